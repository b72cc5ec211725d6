import type { Texts } from '../en/index.ts'

export const welcome: Texts['welcome'] = {
  firstTitle: '欢迎使用 Duet',
  firstText: '此链接会让您以运营者身份登录，仅限一次。请设置今后登录使用的名称和密码。',
  inviteTitle: '您已受邀加入',
  inviteAccount: account => `您将共用账户“${account}”：共享其余额和密钥。`,
  inviteOwnAccount: '您将拥有自己的账户，余额和密钥都是独立的。',
  inviteAdmin: '作为管理员，您可以查看和更改这里的一切。',
  resetTitle: '设置新密码',
  resetText: name => `用户：${name}。其他位置的登录都会退出。`,
  name: '名称',
  nameHint: '用于登录。管理此 Duet 的其他人也能看到。',
  nameMissing: '请输入名称。',
  tooShort: characters => `请至少使用 ${characters} 个字符。`,
  submitFirst: '开始使用',
  submitInvite: '接受并登录',
  submitReset: '设置密码并登录',
  expires: '此链接的到期时间',
  goneTitle: '此链接无法使用',
  goneText: '它已被使用或已过期。如果您已有密码，请直接登录；否则请向管理员索取新链接。',
  goneOperatorTitle: '您是此 Duet 的运营者？',
  goneOperator: '在其所在的机器上，以下命令会生成新链接：新增管理员，或重置忘记的密码。',
  missingTitle: '请重新打开链接',
  missingText:
    '出于安全考虑，链接中的密文不会留在地址栏，重新加载后就没有了。请重新打开完整的原始链接：在使用之前它一直有效。',
  toSignIn: '登录',
}
