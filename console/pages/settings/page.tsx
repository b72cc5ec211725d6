import { LanguageChoice } from '../../app/gate.tsx'
import { ShortcutList } from '../../app/help.tsx'
import { t } from '../../app/language.ts'
import { isAdmin, session } from '../../app/session.ts'
import { chooseTheme, THEMES, theme } from '../../app/theme.ts'
import { Card, Note, PageHeader, Section, Segments } from '../../kit/index.ts'
import { About } from './about.tsx'
import { Configuration } from './configuration.tsx'
import { Password } from './password.tsx'
import { Sessions } from './sessions.tsx'

export function Page() {
  const texts = t().settings
  return (
    <>
      <PageHeader title={t().nav.settings} />
      <Section title={texts.appearance} text={texts.appearanceText}>
        <Card>
          <Appearance />
        </Card>
      </Section>
      {session.value?.user ? (
        <>
          <Password />
          <Sessions />
        </>
      ) : (
        <div class="section">
          <Note>{texts.noPassword}</Note>
        </div>
      )}
      {isAdmin.value && <Configuration />}
      <Section title={texts.keyboard} text={texts.keyboardText}>
        <Card>
          <ShortcutList />
        </Card>
      </Section>
      <About />
    </>
  )
}

function Appearance() {
  const texts = t().settings
  const themes = THEMES.map(value => ({ value, label: texts.themes[value] }))
  return (
    <div class="settings-choices">
      <span aria-hidden="true">{texts.theme}</span>
      <Segments label={texts.theme} options={themes} value={theme.value} onChange={chooseTheme} />
      <span aria-hidden="true">{texts.language}</span>
      <LanguageChoice />
    </div>
  )
}
