import { href, pathTo } from '../app/address.ts'
import { t } from '../app/language.ts'
import { isAdmin } from '../app/session.ts'
import { LinkButton } from './button.tsx'
import { Note } from './note.tsx'

/** The two refusals that look alike and need different help: no money on the account, or none left under a key's cap. */
export type MoneyRefusal = 'balance' | 'cap'

/** What a refused caller is told, letter by letter. */
export const REFUSAL_CODES: Readonly<Record<MoneyRefusal, string>> = {
  balance: 'insufficient_user_quota',
  cap: 'pre_consume_token_quota_failed',
}

export function moneyRefusalOf(code: string): MoneyRefusal | null {
  if (code === REFUSAL_CODES.balance) return 'balance'
  return code === REFUSAL_CODES.cap ? 'cap' : null
}

interface RefusalHelpProps {
  readonly refusal: MoneyRefusal
  /** The key that was used, whose cap would have to be raised. */
  readonly keyId?: string
  /** The account that would have to be topped up. */
  readonly account?: string
  /** Of the key or the account, where several are spoken of. */
  readonly name?: string
}

/** Says which of the two it is, what does not help, and offers what does. */
export function RefusalHelp({ refusal, keyId, account, name }: RefusalHelpProps) {
  const texts = t().refusal
  const titled = (title: string) => (name === undefined ? title : `${name} · ${title}`)
  if (refusal === 'cap') {
    const action = keyId && (
      <LinkButton href={href(pathTo('keys', keyId), { raise: true })}>{texts.raiseCap}</LinkButton>
    )
    return (
      <Note tone="warn" title={titled(texts.capTitle)} action={action}>
        {texts.capText}
        <RefusalCode refusal="cap" />
      </Note>
    )
  }
  const topUp = href('/billing', { topup: true, account: isAdmin.value ? account : null })
  const redeem = href('/billing', { redeem: true })
  return (
    <Note
      tone="warn"
      title={titled(texts.balanceTitle)}
      action={
        isAdmin.value ? (
          <LinkButton href={topUp}>{texts.topUp}</LinkButton>
        ) : (
          <LinkButton href={redeem}>{texts.redeem}</LinkButton>
        )
      }
    >
      {isAdmin.value ? texts.balanceText : texts.balanceTextMember}
      <RefusalCode refusal="balance" />
    </Note>
  )
}

function RefusalCode({ refusal }: { readonly refusal: MoneyRefusal }) {
  return (
    <div class="small">
      {t().refusal.callersGet} <code>403 {REFUSAL_CODES[refusal]}</code>
    </div>
  )
}
