import type { AccountView } from '../../src/admin/contract.ts'
import { compare, isNegative, isZero } from './decimal.ts'
import { t } from './language.ts'
import { isAdmin } from './session.ts'

/** `none`: there never was any money. `empty`: it is used up. `low`: there is some, and most calls are refused. */
export type BalanceState = 'none' | 'empty' | 'low' | 'enough'

/** Before it starts, a call holds the most it may cost: most hold more than this, and are refused with less. */
const TOO_LITTLE = '0.01'

export const isTooLittle = (balance: string): boolean => compare(balance, TOO_LITTLE) < 0

export function balanceState({ balance, spent }: Pick<AccountView, 'balance' | 'spent'>): BalanceState {
  if (!isTooLittle(balance)) return 'enough'
  if (isNegative(balance)) return 'empty'
  if (!isZero(balance)) return 'low'
  return isZero(spent) ? 'none' : 'empty'
}

/** What it means for calls, in few words; undefined where there is nothing to say. */
export function balanceHint(state: BalanceState): string | undefined {
  const { balanceNone, balanceEmpty, balanceLow } = t().layout
  if (state === 'enough') return undefined
  if (state === 'low') return balanceLow
  return state === 'none' && !isAdmin.value ? balanceNone : balanceEmpty
}
