import type { ComponentType } from 'preact'
import type { IconName } from '../kit/icon.tsx'
import type { PageName, Texts } from '../texts/en/index.ts'

export interface PageProps {
  /** What follows the page in the address, decoded: `/keys/new` has `['new']`. */
  readonly rest: readonly string[]
}

interface PageModule {
  readonly Page: ComponentType<PageProps>
}

export interface Route {
  readonly load: () => Promise<PageModule>
  /** Whose words it uses: its own, and those of others that it shows a part of. */
  readonly texts: readonly PageName[]
  /** How many parts may follow. */
  readonly restMax: number
  readonly isForAdmins?: boolean
  readonly nav?: { readonly text: keyof Texts['nav']; readonly icon: IconName; readonly key?: string }
}

/** By the first part of the path, in the order of the menu. Each page is loaded when it is first shown. */
export const ROUTES: Readonly<Record<string, Route>> = {
  '': {
    load: () => import('../pages/overview/page.tsx'),
    texts: ['overview'],
    restMax: 0,
    nav: { text: 'overview', icon: 'overview', key: 'o' },
  },
  keys: {
    load: () => import('../pages/keys/page.tsx'),
    texts: ['keys', 'requests'],
    restMax: 1,
    nav: { text: 'keys', icon: 'keys', key: 'k' },
  },
  billing: {
    load: () => import('../pages/billing/page.tsx'),
    texts: ['billing'],
    restMax: 1,
    nav: { text: 'billing', icon: 'billing', key: 'b' },
  },
  requests: {
    load: () => import('../pages/requests/page.tsx'),
    texts: ['requests'],
    restMax: 1,
    nav: { text: 'requests', icon: 'requests', key: 'r' },
  },
  models: {
    load: () => import('../pages/models/page.tsx'),
    texts: ['models', 'channels'],
    restMax: 1,
    nav: { text: 'models', icon: 'models', key: 'm' },
  },
  channels: {
    load: () => import('../pages/channels/page.tsx'),
    texts: ['channels'],
    restMax: 1,
    isForAdmins: true,
    nav: { text: 'channels', icon: 'channels', key: 'c' },
  },
  playground: {
    load: () => import('../pages/playground/page.tsx'),
    texts: ['playground'],
    restMax: 0,
    nav: { text: 'playground', icon: 'playground', key: 'p' },
  },
  people: {
    load: () => import('../pages/people/page.tsx'),
    texts: ['people'],
    restMax: 0,
    isForAdmins: true,
    nav: { text: 'people', icon: 'people', key: 'u' },
  },
  settings: {
    load: () => import('../pages/settings/page.tsx'),
    texts: ['settings'],
    restMax: 0,
    nav: { text: 'settings', icon: 'settings', key: 's' },
  },
  api: {
    load: () => import('../pages/api/page.tsx'),
    texts: ['api'],
    restMax: 0,
    nav: { text: 'api', icon: 'api', key: 'a' },
  },
  'sign-in': { load: () => import('../pages/sign-in/page.tsx'), texts: ['signIn'], restMax: 0 },
  welcome: { load: () => import('../pages/welcome/page.tsx'), texts: ['welcome', 'signIn'], restMax: 0 },
}
