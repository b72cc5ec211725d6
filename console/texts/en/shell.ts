import { plural } from '../../app/plural.ts'

/** Words of the frame and of the kit; what all pages share. */

export const nav = {
  overview: 'Overview',
  keys: 'Keys',
  billing: 'Billing',
  requests: 'Requests',
  models: 'Models',
  channels: 'Channels',
  playground: 'Playground',
  people: 'People',
  settings: 'Settings',
  api: 'API',
}

export const common = {
  account: 'Account',
  actions: 'Actions',
  admin: 'Admin',
  allAccounts: 'All accounts',
  back: 'Back',
  cancel: 'Cancel',
  clearFilters: 'Clear filters',
  close: 'Close',
  copied: 'Copied',
  copy: 'Copy',
  create: 'Create',
  created: 'Created',
  decimalDot: 'Use a dot for decimals: 1.5. Write thousands without a comma: 1500.',
  delete: 'Delete',
  disable: 'Disable',
  done: 'Done',
  edit: 'Edit',
  enable: 'Enable',
  expires: 'Expires',
  hide: 'Hide',
  loading: 'Loading',
  member: 'Member',
  name: 'Name',
  never: 'Never',
  newer: 'Newer',
  none: 'None',
  older: 'Older',
  optional: 'optional',
  pages: 'Pages',
  reload: 'Load again',
  remove: 'Remove',
  retry: 'Try again',
  save: 'Save',
  saved: 'Saved',
  show: 'Show',
  status: 'Status',
  typeToConfirm: (text: string) => `Type “${text}” to confirm`,
}

export const errors = {
  title: 'That did not work',
  notFoundTitle: 'Not found',
  noPage: 'There is nothing at this address',
  noPageText: 'It may have been mistyped, or it is not for you.',
  pageFailed: 'This page could not be loaded',
  pageFailedText: 'Duet may have been updated since you opened the console.',
  unreachableTitle: 'Duet cannot be reached',
  unreachable: 'No answer came from the server. It may be starting again, or your connection is interrupted.',
  unreadable: (status: number) => `The server answered with ${status} and nothing that the console understands.`,
  tooManyAttempts: (minutes: number | undefined) =>
    minutes === undefined
      ? 'Too many attempts. Wait a little, then try again.'
      : `Too many attempts. Try again in ${minutes} ${plural('en', minutes, { one: 'minute', other: 'minutes' })}.`,
  crossSite: 'The server refused a request that seems to come from another site. Load the page again.',
}

export const layout = {
  skip: 'Skip to content',
  navigation: 'Main navigation',
  quickNavigation: 'Quick navigation',
  more: 'More',
  search: 'Search',
  balance: 'Balance',
  balanceNone: 'No money yet: redeem a code or ask an admin.',
  balanceEmpty: 'Requests are refused until it is topped up.',
  balanceLow: 'Too low for most calls: they are refused.',
  language: 'Language',
  userMenu: 'Your menu',
  adminToken: 'Admin token',
  signOut: 'Sign out',
}

export const connection = {
  connecting: 'Connecting to live updates',
  live: 'Live: what you see updates by itself',
  lost: 'Live updates are interrupted',
  lostText: 'Live updates are interrupted. Trying to connect again …',
}

export const palette = {
  title: 'Search and commands',
  placeholder: 'A page, key, model or request id',
  results: 'Results',
  nothing: 'Nothing has that name. A request id can be pasted here as a whole.',
  page: 'Page',
  action: 'Action',
  createKey: 'Create key',
  topUp: 'Top up',
  redeem: 'Redeem a code',
  addChannel: 'Add channel',
  invite: 'Invite somebody',
  themes: { system: 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' },
  openRequest: 'Open request',
}

export const help = {
  title: 'Keyboard shortcuts',
  anywhere: 'Anywhere',
  lists: 'In lists',
  goTo: 'Go to',
  palette: 'Search and commands',
  filter: 'Go to the filter',
  close: 'Close what is open',
  next: 'Next row',
  previous: 'Previous row',
  open: 'Open the row',
}

export const chart = {
  asTable: 'View as table',
  asChart: 'View as chart',
  time: 'Time',
  nothing: 'Nothing in this time',
}

export const password = {
  new: 'New password',
  rule: (characters: number) =>
    `At least ${characters} characters. A few words in a row are easy to remember and hard to guess.`,
  strength: 'Strength',
  levels: { short: 'Too short', weak: 'Easy to guess: make it longer', fair: 'Fair', strong: 'Strong' },
}

/** The two refusals that look alike. */
export const refusal = {
  noneTitle: 'No money on the account yet',
  balanceTitle: 'The account’s balance is used up',
  lowTitle: 'Too little money on the account',
  lowText: 'A call holds the most it may cost before it starts. Where that is more than is left, it is refused.',
  balanceText: 'A top-up helps: every key of the account can spend it at once. Raising a key’s cap does not help.',
  balanceTextMember:
    'Redeeming a code helps, or a top-up by an admin: every key of the account can spend it at once. Raising a key’s cap does not help.',
  topUp: 'Top up',
  redeem: 'Redeem a code',
  capTitle: 'This key’s cap is reached',
  capText:
    'Raising or removing the cap helps. Topping up the account does not: there may be money left, but this key may not spend it.',
  raiseCap: 'Raise the cap',
  callersGet: 'Callers get',
}
