import { href } from '../../app/address.ts'
import { t } from '../../app/language.ts'
import { Code, LinkButton, PageHeader } from '../../kit/index.ts'

/** For somebody new, and for somebody who has forgotten the password. */
const COMMANDS = `duet users invite --role admin\nduet users reset NAME`

/** A link that was used or has expired. Whose it was is not told, so that what only the operator can do is folded. */
export function Gone() {
  const texts = t().welcome
  return (
    <>
      <PageHeader title={texts.goneTitle} text={texts.goneText} />
      <ToSignIn />
      <details class="gate-help">
        <summary>{texts.goneOperatorTitle}</summary>
        <p>{texts.goneOperator}</p>
        <Code label={texts.goneOperator} text={COMMANDS} />
      </details>
    </>
  )
}

/** The page was loaded again, or the link was copied without its end: it may still work. */
export function Missing() {
  const texts = t().welcome
  return (
    <>
      <PageHeader title={texts.missingTitle} text={texts.missingText} />
      <ToSignIn />
    </>
  )
}

function ToSignIn() {
  return (
    <div class="stack">
      <LinkButton kind="primary" href={href('/sign-in')}>
        {t().welcome.toSignIn}
      </LinkButton>
    </div>
  )
}
