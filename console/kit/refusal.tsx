import type { ComponentChildren } from 'preact'
import { href, pathTo } from '../app/address.ts'
import { type BalanceState, balanceState } from '../app/balance.ts'
import { t } from '../app/language.ts'
import { isAdmin, account as ownAccount } from '../app/session.ts'
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
  /** Instead of "used up" and "reached", where something is left, but too little. */
  readonly title?: string
  /** What can be said with numbers, before what helps. */
  readonly children?: ComponentChildren
  /** Instead of the link to the step that helps, where the page must not be left. */
  readonly action?: ComponentChildren
  /** How the account stands; our own is known without it. */
  readonly balance?: BalanceState
}

/** Says which of the two it is, what does not help, and offers what does. */
export function RefusalHelp(props: RefusalHelpProps) {
  const { refusal, keyId, account, name, title, children, action, balance = stateOf(account) } = props
  const texts = t().refusal
  const titled = (usual: string) => (name === undefined ? (title ?? usual) : `${name} · ${title ?? usual}`)
  if (refusal === 'cap') {
    const raise = keyId && <LinkButton href={href(pathTo('keys', keyId), { raise: true })}>{texts.raiseCap}</LinkButton>
    return (
      <Note tone="warn" title={titled(texts.capTitle)} action={action ?? raise}>
        {children} {texts.capText}
        <RefusalCode refusal="cap" />
      </Note>
    )
  }
  const topUp = href('/billing', { topup: true, account: isAdmin.value ? account : null })
  const redeem = href('/billing', { redeem: true })
  return (
    <Note
      tone="warn"
      title={titled(titleOf(balance))}
      action={
        action ??
        (isAdmin.value ? (
          <LinkButton href={topUp}>{texts.topUp}</LinkButton>
        ) : (
          <LinkButton href={redeem}>{texts.redeem}</LinkButton>
        ))
      }
    >
      {children ?? (balance === 'low' && texts.lowText)} {isAdmin.value ? texts.balanceText : texts.balanceTextMember}
      <RefusalCode refusal="balance" />
    </Note>
  )
}

function stateOf(account: string | undefined): BalanceState {
  const own = ownAccount.value
  return own && (account === undefined || account === own.id) ? balanceState(own) : 'enough'
}

/** A balance that is enough for other calls was too little for the one that is spoken of. */
function titleOf(balance: BalanceState): string {
  const { noneTitle, balanceTitle, lowTitle } = t().refusal
  if (balance === 'none') return noneTitle
  return balance === 'empty' ? balanceTitle : lowTitle
}

function RefusalCode({ refusal }: { readonly refusal: MoneyRefusal }) {
  return (
    <div class="small">
      {t().refusal.callersGet} <code>403 {REFUSAL_CODES[refusal]}</code>
    </div>
  )
}
