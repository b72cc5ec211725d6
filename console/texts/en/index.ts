import { chart, common, connection, errors, help, layout, nav, palette, password, refusal } from './shell.ts'

/** Words of the frame come with it, those of a page with the page. */
export const en = {
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

type Pages = typeof en.pages

export type PageName = keyof Pages

/** Every text of the console. Other languages have the same shape, or they do not compile. */
export type Texts = typeof en.shell & { readonly [P in PageName]: Awaited<ReturnType<Pages[P]>> }

/** One language. */
export interface Language {
  readonly shell: typeof en.shell
  readonly pages: { readonly [P in PageName]: () => Promise<Texts[P]> }
}
