import type { Statement } from 'bun:sqlite'
import type { EmbeddedDatabase, Value } from '../../../src/store/database.ts'
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

/**
 * Reads with questions of its own, so that a mistake in those of the store does not hide itself; only entries come as
 * the store reads them, for their hashes are over what it makes of them.
 */
export class Looker {
  private readonly accounts: Statement<FoundAccount, Value[]>
  private readonly keys: Statement<FoundKey, Value[]>
  private readonly selectHolds: Statement<FoundHold, Value[]>
  private readonly sums: Statement<EntrySum, Value[]>
  private readonly totals: Statement<Totals, Value[]>
  private readonly entries: Statement<EntryRow, Value[]>
  private readonly usage: Statement<FoundUsage, Value[]>

  constructor(db: EmbeddedDatabase) {
    this.accounts = db.prepare('SELECT id, balance, held, spent, entries, head FROM accounts')
    this.keys = db.prepare('SELECT id, account_id, cap, spent, held, enabled, revoked_at FROM keys')
    this.selectHolds = db.prepare('SELECT request_id, account_id, key_id, amount, owner, expires_at FROM holds')
    this.sums = db.prepare(`
      SELECT account_id, key_id, count(*) AS entries, sum(amount) AS amount FROM entries GROUP BY account_id, key_id`)
    this.totals = db.prepare(`
      SELECT u.usage, u.cost, h.usage AS usage_by_hour, h.cost AS cost_by_hour,
             (SELECT count(*) FROM prices) AS prices
      FROM (SELECT count(*) AS usage, coalesce(sum(cost), 0) AS cost FROM usage) u,
           (SELECT coalesce(sum(requests), 0) AS usage, coalesce(sum(cost), 0) AS cost FROM usage_hours) h`)
    this.entries = db.prepare(`${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.seq > ? ORDER BY e.seq`)
    this.usage = db.prepare(`
      SELECT id, request_id, account_id, key_id, status, input, cache_read, cache_write, output, reasoning, price_id,
             cost, held
      FROM usage WHERE id > ? ORDER BY id`)
  }

  look(seen: Seen): Found {
    const accounts = this.accounts.all()
    const before = (id: string) => seen.accounts.get(id)?.entries ?? 0
    const grown = accounts.filter(({ id, entries }) => entries !== BigInt(before(id)))
    return {
      accounts,
      keys: this.keys.all(),
      holds: this.holds(),
      sums: this.sums.all(),
      totals: this.totals.get() as Totals,
      entries: grown.flatMap(({ id }) => this.entries.all(id, before(id))),
      usage: this.usage.all(seen.usageId),
    }
  }

  holds(): FoundHold[] {
    return this.selectHolds.all()
  }
}
