import type { Texts } from '../en/index.ts'

export const nav: Texts['nav'] = {
  overview: '概览',
  keys: '密钥',
  billing: '账单',
  requests: '请求',
  models: '模型',
  channels: '渠道',
  playground: '试验场',
  people: '成员',
  settings: '设置',
  api: 'API',
}

export const common: Texts['common'] = {
  account: '账户',
  actions: '操作',
  admin: '管理员',
  allAccounts: '所有账户',
  back: '返回',
  cancel: '取消',
  clearFilters: '清除筛选',
  close: '关闭',
  copied: '已复制',
  copy: '复制',
  create: '创建',
  created: '创建时间',
  decimalDot: '小数请用点号：1.5。千位不要用逗号：1500。',
  delete: '删除',
  disable: '停用',
  done: '完成',
  edit: '编辑',
  enable: '启用',
  expires: '到期时间',
  hide: '隐藏',
  loading: '加载中',
  member: '成员',
  name: '名称',
  never: '从不',
  newer: '较新',
  none: '无',
  older: '较早',
  optional: '可选',
  pages: '分页',
  reload: '重新加载',
  remove: '移除',
  retry: '重试',
  save: '保存',
  saved: '已保存',
  show: '显示',
  status: '状态',
  typeToConfirm: text => `请输入“${text}”以确认`,
}

export const errors: Texts['errors'] = {
  title: '操作未成功',
  notFoundTitle: '未找到',
  noPage: '此地址没有内容',
  noPageText: '地址可能有误，或者您无权查看。',
  pageFailed: '无法加载此页面',
  pageFailedText: '打开控制台之后，Duet 可能已经更新。',
  unreachableTitle: '无法连接 Duet',
  unreachable: '服务器没有响应。它可能正在重新启动，或者您的网络已中断。',
  unreadable: status => `服务器返回了 ${status}，控制台无法理解其内容。`,
  tooManyAttempts: minutes =>
    minutes === undefined ? '尝试次数过多，请稍后再试。' : `尝试次数过多，请在 ${minutes} 分钟后再试。`,
  crossSite: '服务器拒绝了一个看似来自其他网站的请求。请重新加载页面。',
}

export const layout: Texts['layout'] = {
  skip: '跳到正文',
  navigation: '主导航',
  quickNavigation: '快捷导航',
  more: '更多',
  search: '搜索',
  balance: '余额',
  balanceNone: '还没有钱：请兑换充值码或联系管理员。',
  balanceEmpty: '充值之前，请求会被拒绝。',
  balanceLow: '余额不足以支付大多数调用，请求会被拒绝。',
  language: '语言',
  userMenu: '用户菜单',
  adminToken: '管理令牌',
  signOut: '退出登录',
}

export const connection: Texts['connection'] = {
  connecting: '正在连接实时更新',
  live: '实时：内容会自动更新',
  lost: '实时更新已中断',
  lostText: '实时更新已中断，正在重新连接……',
}

export const palette: Texts['palette'] = {
  title: '搜索与命令',
  placeholder: '页面、密钥、模型或请求 ID',
  results: '结果',
  nothing: '没有匹配的名称。可以在此粘贴完整的请求 ID。',
  page: '页面',
  action: '操作',
  createKey: '创建密钥',
  topUp: '充值',
  redeem: '兑换充值码',
  addChannel: '添加渠道',
  invite: '邀请成员',
  themes: { system: '主题：跟随系统', light: '主题：浅色', dark: '主题：深色' },
  openRequest: '打开请求',
}

export const help: Texts['help'] = {
  title: '键盘快捷键',
  anywhere: '任何位置',
  lists: '列表中',
  goTo: '前往',
  palette: '搜索与命令',
  filter: '跳到筛选框',
  close: '关闭当前窗口',
  next: '下一行',
  previous: '上一行',
  open: '打开该行',
}

export const chart: Texts['chart'] = {
  asTable: '以表格查看',
  asChart: '以图表查看',
  time: '时间',
  nothing: '此时段没有数据',
}

export const password: Texts['password'] = {
  new: '新密码',
  rule: characters => `至少 ${characters} 个字符。连用几个词语，既好记又难猜。`,
  strength: '强度',
  levels: { short: '太短', weak: '容易被猜到：请加长', fair: '尚可', strong: '很强' },
}

export const refusal: Texts['refusal'] = {
  noneTitle: '账户里还没有钱',
  balanceTitle: '账户余额已用完',
  lowTitle: '账户余额太少',
  lowText: '每次调用开始前会预留其最高费用；超出所剩余额的调用会被拒绝。',
  balanceText: '充值即可解决：该账户的所有密钥可以立即使用。提高密钥上限没有作用。',
  balanceTextMember: '兑换充值码或由管理员充值即可解决：该账户的所有密钥可以立即使用。提高密钥上限没有作用。',
  topUp: '充值',
  redeem: '兑换充值码',
  capTitle: '此密钥已达到上限',
  capText: '提高或取消上限即可解决。给账户充值没有作用：账户里可能还有钱，只是这个密钥不能再用。',
  raiseCap: '提高上限',
  callersGet: '调用方会收到',
}
