import { plural } from '../../app/plural.ts'

export const settings = {
  appearance: 'Appearance',
  appearanceText: 'For this browser only.',
  theme: 'Theme',
  themes: { system: 'System', light: 'Light', dark: 'Dark' },
  language: 'Language',

  password: 'Password',
  passwordText: 'Changing it signs you out everywhere else.',
  current: 'Current password',
  currentMissing: 'Enter your current password.',
  wrongPassword: 'That is not your current password.',
  tooShort: (characters: number) => `Use at least ${characters} characters.`,
  change: 'Change password',
  changed: 'Password changed. You are signed out everywhere else.',
  noPassword: 'You are using the admin token, which belongs to nobody: there is no password and there are no sessions.',

  sessions: 'Sessions',
  sessionsText: 'Browsers in which you are signed in.',
  browser: 'Browser',
  address: 'Address',
  lastSeen: 'Last seen',
  signedIn: 'Signed in',
  thisOne: 'This browser',
  unknownBrowser: 'Unknown browser',
  end: 'Sign out there',
  ended: 'Signed out there.',
  endOthers: 'Sign out everywhere else',
  endOthersTitle: 'Sign out everywhere else?',
  endOthersText: 'Every browser but this one has to sign in again.',
  endedOthers: 'Signed out everywhere else.',
  on: (browser: string, system: string) => `${browser} on ${system}`,

  configuration: 'Configuration',
  configurationText:
    'Models and channels that duet.yaml defines are changed there. Read it again to put changes into effect without a restart; a file with faults is refused whole, and what was valid stays.',
  reload: 'Read duet.yaml again',
  reloaded: (models: number, channels: number) =>
    `Read: ${models} ${plural('en', models, { one: 'model', other: 'models' })}, ${channels} ${plural('en', channels, { one: 'channel', other: 'channels' })}.`,
  faults: 'duet.yaml has faults; nothing was changed',

  keyboard: 'Keyboard',
  keyboardText: 'Press ? anywhere to see this.',

  about: 'About',
  version: 'Version',
  baseUrl: 'Address for callers',
  mode: 'Upstreams',
  sandbox: 'Built-in sandbox: answers are made up and cost nothing real',
  real: 'Real upstreams are configured',
  role: 'Your role',
  documentation: 'Management API',
  documentationLink: 'Read about every call',
}
