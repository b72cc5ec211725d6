import { href } from '../../app/address.ts'
import { t } from '../../app/language.ts'
import { Code, LinkButton, PageHeader } from '../../kit/index.ts'

/** For somebody new, and for somebody who has forgotten the password. */
const COMMANDS = `duet users invite --role admin\nduet users reset NAME`

/** A link that was used, has expired, or is not whole. */
export function Gone({ isMissing }: { readonly isMissing: boolean }) {
  const texts = t().welcome
  return (
    <>
      <PageHeader title={texts.goneTitle} text={isMissing ? texts.missingText : texts.goneText} />
      <div class="stack">
        <div>
          <p class="gate-note">{texts.goneOperator}</p>
          <Code label={texts.goneOperator} text={COMMANDS} />
        </div>
        <LinkButton kind="primary" href={href('/sign-in')}>
          {texts.toSignIn}
        </LinkButton>
      </div>
    </>
  )
}
