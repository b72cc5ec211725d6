import { signal } from '@preact/signals'
import { en, type PageName, type Language as Source, type Texts } from '../texts/en/index.ts'
import { keep, kept } from './keep.ts'

/** Each by the name its readers use. */
export const LANGUAGES = { en: 'English', zh: '简体中文' } as const
export type Language = keyof typeof LANGUAGES

const SOURCES: Readonly<Record<Language, () => Promise<Source>>> = {
  en: async () => en,
  zh: () => import('../texts/zh/index.ts').then(({ zh }) => zh),
}

const dictionary = signal<Partial<Texts>>(en.shell)
const wanted = new Set<PageName>()

export const language = signal<Language>('en')

/**
 * The texts in the chosen language: those of the frame, and of the page that is shown. A component that calls it is
 * drawn again when the language changes.
 */
export const t = (): Texts => dictionary.value as Texts

/** For `Intl`. */
export const locale = (): string => (language.value === 'zh' ? 'zh-CN' : 'en-US')

/** Before a page is drawn, its words must be there. */
export function loadTexts(names: readonly PageName[]): Promise<void> {
  for (const name of names) wanted.add(name)
  return oneByOne(async () => {
    dictionary.value = await gather(language.peek())
  })
}

export function chooseLanguage(next: Language): Promise<void> {
  return oneByOne(async () => {
    dictionary.value = await gather(next)
    language.value = next
    document.documentElement.lang = next === 'zh' ? 'zh-CN' : 'en'
    keep('language', next)
  })
}

/** What was chosen before, or what the browser prefers. */
export async function restoreLanguage(): Promise<void> {
  const chosen = kept('language') ?? navigator.language.slice(0, 2)
  if (chosen === 'zh') await chooseLanguage('zh').catch(() => undefined)
  else document.documentElement.lang = 'en'
}

async function gather(name: Language): Promise<Partial<Texts>> {
  const { shell, pages } = await SOURCES[name]()
  const loaded = await Promise.all([...wanted].map(async page => [page, await pages[page]()] as const))
  return { ...shell, ...Object.fromEntries(loaded) }
}

let last: Promise<unknown> = Promise.resolve()

/** A page that opens while the language changes must not bring the old one back. */
function oneByOne(work: () => Promise<void>): Promise<void> {
  const done = last.then(work)
  last = done.catch(() => undefined)
  return done
}
