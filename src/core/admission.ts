import type { HoldOutcome, HoldRequest } from './ledger.ts'
import { atLeastZero, type Nanos, nanos, ZERO } from './money.ts'

interface Purse {
  readonly balance: Nanos
  readonly held: Nanos
}

interface Limit {
  readonly cap: Nanos | undefined
  readonly spent: Nanos
  readonly held: Nanos
}

/**
 * Whether a call may start, and on how much: all it may cost, or all that is left if that is enough to begin with.
 * The balance is looked at before the cap, so that a caller with neither learns of the balance.
 */
export function admit(account: Purse, key: Limit, { most, least }: Pick<HoldRequest, 'most' | 'least'>): HoldOutcome {
  const available = nanos(account.balance - account.held)
  if (account.balance <= ZERO || available < least) {
    return { type: 'balance-short', balance: account.balance, available: atLeastZero(available) }
  }
  const remaining = key.cap === undefined ? undefined : nanos(key.cap - key.spent - key.held)
  if (remaining !== undefined && (remaining <= ZERO || remaining < least)) {
    return { type: 'cap-short', remaining: atLeastZero(remaining) }
  }
  const limit = remaining !== undefined && remaining < available ? remaining : available
  return { type: 'held', amount: most < limit ? most : limit, available: limit }
}
