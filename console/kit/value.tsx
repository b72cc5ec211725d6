import { isNegative } from '../app/decimal.ts'
import { dateTime, exactMoney, money, relative } from '../app/format.ts'

interface MoneyProps {
  readonly amount: string
  readonly isSigned?: boolean
  /** The same for all that stand together: `decimalsFor`. */
  readonly decimals?: number | undefined
}

/** An exact amount, short; all its digits for those who point at it. */
export function Money({ amount, isSigned = false, decimals }: MoneyProps) {
  const sign = isSigned && !isNegative(amount) ? '+' : ''
  return (
    <data class="money" value={amount} title={exactMoney(amount)}>
      {sign + money(amount, decimals)}
    </data>
  )
}

/** "2 minutes ago", and when exactly for those who point at it. `none` stands for null. */
export function Time({ at, none = '–' }: { readonly at: string | null; readonly none?: string }) {
  if (at === null) return <span class="faint">{none}</span>
  return (
    <time dateTime={at} title={dateTime(at)}>
      {relative(at)}
    </time>
  )
}

/** A key on the keyboard. */
export function Keys({ keys }: { readonly keys: readonly string[] }) {
  return (
    <span class="keys">
      {keys.map(key => (
        <kbd key={key}>{key}</kbd>
      ))}
    </span>
  )
}
