import type { Language } from '../en/index.ts'
import { chart, common, connection, errors, help, layout, nav, palette, password, refusal } from './shell.ts'

/** 简体中文 */
export const zh: Language = {
  shell: { chart, common, connection, errors, help, layout, nav, palette, password, refusal },
  pages: {
    api: () => import('./api.ts').then(({ api }) => api),
    billing: () => import('./billing.ts').then(({ billing }) => billing),
    channels: () => import('./channels.ts').then(({ channels }) => channels),
    keys: () => import('./keys.ts').then(({ keys }) => keys),
    models: () => import('./models.ts').then(({ models }) => models),
    overview: () => import('./overview.ts').then(({ overview }) => overview),
    people: () => import('./people.ts').then(({ people }) => people),
    playground: () => import('./playground.ts').then(({ playground }) => playground),
    requests: () => import('./requests.ts').then(({ requests }) => requests),
    settings: () => import('./settings.ts').then(({ settings }) => settings),
    signIn: () => import('./sign-in.ts').then(({ signIn }) => signIn),
    welcome: () => import('./welcome.ts').then(({ welcome }) => welcome),
  },
}
