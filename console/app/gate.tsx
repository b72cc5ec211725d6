import type { ComponentChildren } from 'preact'
import { Segments } from '../kit/tabs.tsx'
import { chooseLanguage, LANGUAGES, type Language, language, t } from './language.ts'
import { Logo } from './layout.tsx'

/** The frame of pages for those who are not signed in. */
export function Gate({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="gate">
      <header>
        <Logo />
      </header>
      <main class="gate-card card">{children}</main>
      <footer>
        <LanguageChoice />
      </footer>
    </div>
  )
}

const NAMES = Object.keys(LANGUAGES) as Language[]

export function LanguageChoice() {
  const options = NAMES.map(name => ({ value: name, label: LANGUAGES[name] }))
  return <Segments label={t().layout.language} options={options} value={language.value} onChange={chooseLanguage} />
}
