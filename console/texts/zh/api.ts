import type { Texts } from '../en/index.ts'

export const api: Texts['api'] = {
  intro: '控制台和命令行所做的一切都通过此 API 完成，您也可以直接使用它。',
  search: '搜索接口',
  whoMay: '谁可以调用',
  anybody: '所有人',
  access: { open: '公开', member: '已登录', admin: '管理员' },
  who: {
    open: '对所有人开放，无需令牌。',
    member: '已登录即可调用。成员只能看到自己的账户；管理令牌可以看到全部。',
    admin: '仅限管理员：使用管理令牌，或以管理员身份登录。',
  },
  contents: '目录',
  basics: [
    [
      '身份',
      '发送 `Authorization: Bearer <管理令牌>`，或登录后的会话 Cookie。使用 Cookie 时，任何修改操作都需要 `x-duet-console: 1`。',
    ],
    ['金额', '金额是以美元计的精确十进制字符串：`"12.50"`。提交时也请使用字符串，数字会丢失精度。'],
    ['时间', 'ISO 8601，UTC：`2027-01-01T00:00:00Z`。'],
    ['列表', '`{ "data": [...], "next": "..." }`。把 `next` 作为 `cursor` 传入即可获取下一页；为 null 表示最后一页。'],
    ['错误', '`{ "error": { "code", "message", "param" } }`。`param` 指出有问题的字段。'],
  ],
  parameters: '参数',
  places: { path: '路径中', query: '查询参数', header: '请求头' },
  body: '请求体',
  optionalBody: '请求体（可省略）',
  answer: '响应',
  refusals: '拒绝',
  nothing: '没有响应体。',
  example: '示例',
  types: {
    any: '任意值',
    listOf: type => `${type} 列表`,
    mapOf: type => `名称到 ${type} 的映射`,
    charactersMin: n => `至少 ${n} 个字符`,
    charactersMax: n => `最多 ${n} 个字符`,
  },
  nothingFound: '没有相关的接口',
  nothingFoundText: '请尝试路径的一部分（如 keys），或字段名（如 cap）。',
}
