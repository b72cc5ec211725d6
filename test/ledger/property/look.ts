import type { Database } from '../../../src/store/database.ts'
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
  /** Days that are not what their hours add up to. */
  readonly wrong_days: bigint
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
const OWNERS_ALIVE = 'SELECT owner FROM owners WHERE expires_at > duet_now()'
const SUMS = `
  SELECT account_id, key_id, count(*) AS entries, CAST(sum(amount) AS BIGINT) AS amount
  FROM entries GROUP BY account_id, key_id`
const DAY_SUMS = ['requests', 'input', 'cache_read', 'cache_write', 'output', 'reasoning', 'cost']
const DAY_OF = 'account_id, key_id, model, channel, protocol, status'
const WRONG_DAYS = `
  SELECT day, ${DAY_OF} FROM (
    SELECT day, ${DAY_OF}, ${DAY_SUMS.join(', ')} FROM usage_days
    UNION ALL
    SELECT hour / 24, ${DAY_OF}, ${DAY_SUMS.map(name => `-${name}`).join(', ')} FROM usage_hours
  ) d GROUP BY day, ${DAY_OF} HAVING ${DAY_SUMS.map(name => `sum(${name}) <> 0`).join(' OR ')}`
const TOTALS = `
  SELECT u.usage, u.cost, h.usage AS usage_by_hour, h.cost AS cost_by_hour,
         (SELECT count(*) FROM prices) AS prices, (SELECT count(*) FROM (${WRONG_DAYS}) w) AS wrong_days
  FROM (SELECT count(*) AS usage, CAST(coalesce(sum(cost), 0) AS BIGINT) AS cost FROM usage) u,
       (SELECT CAST(coalesce(sum(requests), 0) AS BIGINT) AS usage, CAST(coalesce(sum(cost), 0) AS BIGINT) AS cost
        FROM usage_hours) h`
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
  private readonly db: Database
  private readonly owner: string

  constructor(db: Database, owner: string) {
    this.db = db
    this.owner = owner
  }

  async look(seen: Seen): Promise<Found> {
    const accounts = await this.db.all<FoundAccount>(ACCOUNTS)
    const before = (id: string) => seen.accounts.get(id)?.entries ?? 0
    const entries: EntryRow[] = []
    for (const { id, entries: there } of accounts) {
      if (there !== BigInt(before(id))) entries.push(...(await this.db.all<EntryRow>(ENTRIES, id, before(id))))
    }
    return {
      accounts,
      keys: await this.db.all(KEYS),
      holds: await this.holds(),
      sums: await this.db.all(SUMS),
      totals: (await this.db.get<Totals>(TOTALS)) as Totals,
      entries,
      usage: await this.db.all(USAGE, seen.usageId),
    }
  }

  async holds(): Promise<readonly FoundHold[]> {
    const holds = await this.db.all<FoundHold>(HOLDS)
    if (this.db.dialect.name === 'sqlite') return holds
    // There the lease of an owner is one for all its holds, and by the clock of the server: it is over, or it is not.
    const alive = new Set((await this.db.all<{ owner: string }>(OWNERS_ALIVE)).map(({ owner }) => owner))
    const isOver = (owner: string) => owner === this.owner && !alive.has(owner)
    return holds.map(hold => ({ ...hold, expires_at: isOver(hold.owner) ? 0n : BigInt(Number.MAX_SAFE_INTEGER) }))
  }
}
