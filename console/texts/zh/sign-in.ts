import type { Texts } from '../en/index.ts'

export const signIn: Texts['signIn'] = {
  title: '登录',
  password: '密码',
  submit: '登录',
  wrong: '名称或密码错误。',
  nameMissing: '请输入您的名称。',
  passwordMissing: '请输入您的密码。',
  ended: '登录后可继续之前的操作。',
  lostTitle: '还没有账号，或忘记了密码？',
  lost: '管理员可以给您发送链接：在控制台的“成员”页面，或用以下命令：',
}
