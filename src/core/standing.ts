import type { Account, Key } from './directory.ts'
import type { Nanos } from './money.ts'

/** How accounts and keys stand, for those who look at all of them at once. */
export interface Standing {
  /** All accounts together. */
  totals(): Promise<Pick<Account, 'balance' | 'held' | 'spent'>>
  /** The poorest accounts of those that ever had money, or are named; the poorest first. */
  lowAccounts(request: LowAccounts): Promise<readonly Account[]>
  /** Usable keys that have spent so many percent of their cap, or more; the fullest first. */
  fullKeys(request: FullKeys): Promise<readonly Key[]>
  keySteps(accountId: string | undefined): Promise<KeySteps>
}

export interface LowAccounts {
  /** No more than this, unless they are named. */
  readonly balance: Nanos
  readonly named: readonly string[]
  readonly limit: number
}

export interface FullKeys {
  /** Undefined for all. */
  readonly accountId: string | undefined
  readonly percent: number
  readonly now: number
  readonly limit: number
}

/** What was done with keys so far. */
export interface KeySteps {
  /** Somebody made one: the key that came with the very first account does not count. */
  readonly hasOwn: boolean
  readonly hasCap: boolean
}
