export const signIn = {
  title: 'Sign in',
  password: 'Password',
  submit: 'Sign in',
  wrong: 'Name or password is wrong.',
  nameMissing: 'Enter your name.',
  passwordMissing: 'Enter your password.',
  ended: 'Sign in to go on where you were.',
  lostTitle: 'No access yet, or password forgotten?',
  lost: 'An admin can send you a link, from People in the console or with this command:',
}
