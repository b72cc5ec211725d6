import type { EmbeddedDatabase } from '../../../src/store/database.ts'
import type { EntryRow } from '../../../src/store/rows.ts'
import { ENTRIES_WITH_PRICES } from '../../../src/store/rows.ts'

/** What the database says after a step. */
export interface Found {
  readonly accounts: readonly FoundAccount[]
  readonly keys: readonly FoundKey[]
  readonly holds: readonly FoundHold[]
  /** What all entries add up to. */
  readonly sums: readonly EntrySum[]
  readonly totals: Totals
  /** Since the last look. */
  readonly entries: readonly EntryRow[]
  readonly usage: readonly FoundUsage[]
}

export interface FoundAccount {
  readonly id: string
  readonly balance: bigint
  readonly held: bigint
  readonly spent: bigint
  readonly entries: bigint
  readonly head: string
}

export interface FoundKey {
  readonly id: string
  readonly account_id: string
  readonly cap: bigint | null
  readonly spent: bigint
  readonly held: bigint
  readonly enabled: bigint
  readonly revoked_at: bigint | null
}

export interface FoundHold {
  readonly request_id: string
  readonly account_id: string
  readonly key_id: string
  readonly amount: bigint
  readonly owner: string
  readonly expires_at: bigint
}

/** The charges of a key, or the deposits of an account. */
export interface EntrySum {
  readonly account_id: string
  readonly key_id: string | null
  readonly entries: bigint
  readonly amount: bigint
}

/** All records of requests, and the sums that are kept of them by the hour. */
export interface Totals {
  readonly usage: bigint
  readonly cost: bigint
  readonly usage_by_hour: bigint
  readonly cost_by_hour: bigint
  readonly prices: bigint
}

export interface FoundUsage {
  readonly id: bigint
  readonly request_id: string
  readonly account_id: string
  readonly key_id: string
  readonly status: string
  readonly input: bigint
  readonly cache_read: bigint
  readonly cache_write: bigint
  readonly output: bigint
  readonly reasoning: bigint
  readonly price_id: bigint | null
  readonly cost: bigint
  readonly held: bigint
}

/** How far somebody has looked already. */
export interface Seen {
  readonly accounts: ReadonlyMap<string, { readonly entries: number }>
  readonly usageId: bigint
}

const ACCOUNTS = 'SELECT id, balance, held, spent, entries, head FROM accounts'
const KEYS = 'SELECT id, account_id, cap, spent, held, enabled, revoked_at FROM keys'
const HOLDS = 'SELECT request_id, account_id, key_id, amount, owner, expires_at FROM holds'
const SUMS = `
  SELECT account_id, key_id, count(*) AS entries, sum(amount) AS amount FROM entries GROUP BY account_id, key_id`
const TOTALS = `
  SELECT u.usage, u.cost, h.usage AS usage_by_hour, h.cost AS cost_by_hour,
         (SELECT count(*) FROM prices) AS prices
  FROM (SELECT count(*) AS usage, coalesce(sum(cost), 0) AS cost FROM usage) u,
       (SELECT coalesce(sum(requests), 0) AS usage, coalesce(sum(cost), 0) AS cost FROM usage_hours) h`
const ENTRIES = `${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.seq > ? ORDER BY e.seq`
const USAGE = `
  SELECT id, request_id, account_id, key_id, status, input, cache_read, cache_write, output, reasoning, price_id,
         cost, held
  FROM usage WHERE id > ? ORDER BY id`

/**
 * Reads with questions of its own, so that a mistake in those of the store does not hide itself; only entries come as
 * the store reads them, for their hashes are over what it makes of them.
 */
export class Looker {
  private readonly db: EmbeddedDatabase

  constructor(db: EmbeddedDatabase) {
    this.db = db
  }

  look(seen: Seen): Found {
    const accounts = this.db.all<FoundAccount>(ACCOUNTS)
    const before = (id: string) => seen.accounts.get(id)?.entries ?? 0
    const grown = accounts.filter(({ id, entries }) => entries !== BigInt(before(id)))
    return {
      accounts,
      keys: this.db.all(KEYS),
      holds: this.holds(),
      sums: this.db.all(SUMS),
      totals: this.db.get(TOTALS) as Totals,
      entries: grown.flatMap(({ id }) => this.db.all<EntryRow>(ENTRIES, id, before(id))),
      usage: this.db.all(USAGE, seen.usageId),
    }
  }

  holds(): FoundHold[] {
    return this.db.all(HOLDS)
  }
}
