import { atLeastZero, type Nanos, nanos, ZERO } from './money.ts'
import type { HoldOutcome, HoldRequest } from './ports.ts'

export interface Funds {
  readonly balance: Nanos
  readonly accountHeld: Nanos
  readonly cap: Nanos | undefined
  readonly keySpent: Nanos
  readonly keyHeld: Nanos
}

/**
 * Whether a call may start, and on how much: all it may cost, or all that is left if that is enough to begin with.
 * The balance is looked at before the cap, so that a caller with neither learns of the balance.
 */
export function admit(funds: Funds, { most, least }: Pick<HoldRequest, 'most' | 'least'>): HoldOutcome {
  const available = nanos(funds.balance - funds.accountHeld)
  if (funds.balance <= ZERO || available < least) {
    return { type: 'balance-short', balance: funds.balance, available: atLeastZero(available) }
  }
  const remaining = funds.cap === undefined ? undefined : nanos(funds.cap - funds.keySpent - funds.keyHeld)
  if (remaining !== undefined && (remaining <= ZERO || remaining < least)) {
    return { type: 'cap-short', remaining: atLeastZero(remaining) }
  }
  const limit = remaining !== undefined && remaining < available ? remaining : available
  return { type: 'held', amount: most < limit ? most : limit }
}
