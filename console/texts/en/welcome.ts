export const welcome = {
  firstTitle: 'Welcome to Duet',
  firstText:
    'This link signs you in as the operator, once. Choose the name and the password you will sign in with from now on.',
  inviteTitle: 'You are invited',
  inviteAccount: (account: string) => `You will share the account “${account}”: its balance and its keys.`,
  inviteOwnAccount: 'You will have an account of your own, with its own balance and keys.',
  inviteAdmin: 'As an admin you will see and change everything here.',
  resetTitle: 'Choose a new password',
  resetText: (name: string) => `For ${name}. You will be signed out everywhere else.`,
  name: 'Name',
  nameHint: 'You sign in with it. Others who manage this Duet see it too.',
  nameMissing: 'Enter a name.',
  tooShort: (characters: number) => `Use at least ${characters} characters.`,
  submitFirst: 'Start',
  submitInvite: 'Accept and sign in',
  submitReset: 'Set password and sign in',
  expires: 'This link expires',
  goneTitle: 'This link cannot be used',
  goneText:
    'It was used already or has expired. If you have a password, sign in with it; otherwise ask an admin for a new link.',
  goneOperatorTitle: 'Do you run this Duet?',
  goneOperator: 'On its machine, these make a new link: for one more admin, or for a forgotten password.',
  missingTitle: 'Open the link again',
  missingText:
    'What makes it yours does not stay in the address, for safety, and is gone after a reload. Open the link again as it was given to you, in full: it works until it is used.',
  toSignIn: 'Sign in',
}
