import { nanos } from '../core/money.ts'
import {
  type AccountClaims,
  type Audit,
  type Charge,
  type EntriesSlice,
  SUMMARY_MS,
  type UsageSlice,
  type UsageSums,
} from '../core/records.ts'
import { ask, type Database, type Dialect, type Work } from './database.ts'
import { entriesGone, openingAfter, usageKeptSince } from './retention.ts'
import {
  type AccountRow,
  ENTRIES_WITH_PRICES,
  type EntryRow,
  HOUR_SUMS,
  type HourSumsRow,
  type KeyRow,
  type PriceRow,
  toEntry,
  toPrice,
  toSums,
  toUsage,
  type UsageTableRow,
} from './rows.ts'
import { usageEnd } from './usage-end.ts'

/** Accounts that are looked for at once. */
const SLICE_ACCOUNTS = 1_000

/**
 * Everything there is, for those who want to check it. A slice and what is claimed about it are read as they were at one
 * moment, so that they belong together while the ledger goes on.
 */
export class SqlAudit implements Audit {
  private readonly db: Database
  private readonly findEnd: typeof usageEnd
  /** Usage records up to this number are all there. */
  private usageEnd = 0

  constructor(db: Database, findEnd = usageEnd) {
    this.db = db
    this.findEnd = findEnd
  }

  async size(): Promise<{ readonly rows: number; readonly holds: number }> {
    const engine = this.db.dialect.name
    return this.db.snapshot(() => size(engine))
  }

  async accountIds(): Promise<readonly string[]> {
    const rows = await this.db.all<{ id: string }>('SELECT id FROM accounts')
    const ids = new Set(rows.map(({ id }) => id))
    for (let after = ''; ; ) {
      const paid = await this.paidAccounts(after)
      for (const id of paid) ids.add(id)
      const last = paid.at(-1)
      if (last === undefined || paid.length < SLICE_ACCOUNTS) return [...ids].sort()
      after = last
    }
  }

  /** From one account's first entry to the next one's: the entries in between need not be read. */
  private async paidAccounts(after: string): Promise<readonly string[]> {
    const rows = await this.db.all<{ id: string }>(
      `WITH RECURSIVE paid (id, place) AS (
         SELECT (SELECT min(account_id) FROM entries WHERE account_id > ?), 1
         UNION ALL
         SELECT (SELECT min(account_id) FROM entries WHERE account_id > paid.id), place + 1
         FROM paid WHERE paid.id IS NOT NULL AND place < ${SLICE_ACCOUNTS}
       )
       SELECT id FROM paid WHERE id IS NOT NULL ORDER BY id`,
      after,
    )
    return rows.map(({ id }) => id)
  }

  entriesAfter(accountId: string, seq: number, limit: number): Promise<EntriesSlice> {
    const engine = this.db.dialect.name
    return this.db.snapshot(() => entriesAfter(engine, { accountId, seq, limit }))
  }

  async usageAfter(id: number, limit: number): Promise<UsageSlice> {
    if (id + limit > this.usageEnd) this.usageEnd = await this.findEnd(this.db)
    const [engine, end] = [this.db.dialect.name, this.usageEnd]
    return this.db.snapshot(() => usageAfter(engine, { id, end, limit }))
  }
}

type Engine = Dialect['name']

function* size(engine: Engine): Work<{ rows: number; holds: number }> {
  // Rows are numbered; counting ten million of them would take the time of checking many.
  const entries = yield* number('SELECT CAST(sum(entries) AS BIGINT) AS n FROM accounts')
  const usage = yield* number('SELECT max(id) - min(id) + 1 AS n FROM usage')
  const holds = yield* number('SELECT count(*) AS n FROM holds')
  return { rows: entries - (yield* entriesGone(engine)) + usage, holds }
}

function* number(sql: string): Work<number> {
  const row = yield* ask.get<{ n: bigint | null }>(sql)
  return Number(row?.n ?? 0)
}

interface EntriesAfter {
  readonly accountId: string
  readonly seq: number
  readonly limit: number
}

function* entriesAfter(engine: Engine, { accountId, seq, limit }: EntriesAfter): Work<EntriesSlice> {
  const opening = yield* openingAfter(engine, accountId, seq)
  const rows = yield* ask.all<EntryRow>(
    `${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`,
    ...[accountId, opening?.seq ?? seq, limit],
  )
  const isLast = rows.length < limit
  return { opening, entries: rows.map(toEntry), isLast, claims: isLast ? yield* claims(accountId) : undefined }
}

interface UsageAfter {
  readonly id: number
  readonly end: number
  readonly limit: number
}

/** Beyond the end, records may be missing that will be there soon: those are told with the last slice, or not yet. */
function* usageAfter(engine: Engine, { id, end, limit }: UsageAfter): Work<UsageSlice> {
  const keptSince = yield* usageKeptSince(engine)
  const rows = yield* ask.all<UsageTableRow & ChargeColumns>(
    `SELECT u.*, -e.amount AS charged, e.price_id AS charged_price, e.input AS charged_input,
            e.cache_read AS charged_cache_read, e.cache_write AS charged_cache_write, e.output AS charged_output,
            e.key_id AS charged_key, e.at AS charged_at
     FROM usage u
     LEFT JOIN entries e
       ON e.account_id = u.account_id AND e.seq = u.entry_seq AND e.kind = 'charge' AND e.source = u.request_id
     WHERE u.id > ? AND u.started_at >= ? ORDER BY u.id LIMIT ?`,
    ...[id, keptSince, limit],
  )
  const isLast = rows.length < limit
  const told = isLast ? rows : rows.filter(row => row.id <= end)
  const prices = new Map((yield* ask.all<PriceRow>('SELECT * FROM prices')).map(row => [row.id, toPrice(row)]))
  return {
    keptSince,
    rows: told.map(row => ({
      id: Number(row.id),
      row: toUsage(row),
      price: row.price_id === null ? undefined : prices.get(row.price_id),
      charge: toCharge(row),
    })),
    sums: isLast ? yield* sums(keptSince) : undefined,
  }
}

function* claims(accountId: string): Work<AccountClaims | undefined> {
  const account = yield* ask.get<AccountRow>('SELECT * FROM accounts WHERE id = ?', accountId)
  if (!account) return undefined
  const keys = yield* ask.all<KeyRow>('SELECT * FROM keys WHERE account_id = ? ORDER BY id', accountId)
  const holds = yield* ask.all<{ key_id: string; held: bigint }>(
    'SELECT key_id, CAST(sum(amount) AS BIGINT) AS held FROM holds WHERE account_id = ? GROUP BY key_id',
    accountId,
  )
  const heldByKey = new Map(holds.map(({ key_id, held }) => [key_id, held]))
  return {
    id: account.id,
    balance: nanos(account.balance),
    spent: nanos(account.spent),
    held: nanos(account.held),
    entries: Number(account.entries),
    head: account.head,
    heldInRows: nanos(holds.reduce((sum, { held }) => sum + held, 0n)),
    keys: keys.map(key => ({
      id: key.id,
      spent: nanos(key.spent),
      held: nanos(key.held),
      heldInRows: nanos(heldByKey.get(key.id) ?? 0n),
    })),
  }
}

function* sums(keptSince: number): Work<ReadonlyMap<string, UsageSums>> {
  const rows = yield* ask.all<{ account_id: string } & HourSumsRow>(
    `SELECT account_id, ${HOUR_SUMS} FROM usage_hours WHERE hour >= ? GROUP BY account_id`,
    keptSince / SUMMARY_MS,
  )
  return new Map(rows.map(row => [row.account_id, toSums(row)]))
}

/** The entry of a usage row's charge, if it has one. */
interface ChargeColumns {
  readonly charged: bigint | null
  readonly charged_price: bigint | null
  readonly charged_input: bigint | null
  readonly charged_cache_read: bigint | null
  readonly charged_cache_write: bigint | null
  readonly charged_output: bigint | null
  readonly charged_key: string | null
  readonly charged_at: bigint | null
}

function toCharge(row: ChargeColumns): Charge | undefined {
  if (row.charged === null) return undefined
  const usage = {
    input: Number(row.charged_input),
    cacheRead: Number(row.charged_cache_read),
    cacheWrite: Number(row.charged_cache_write),
    output: Number(row.charged_output),
  }
  return {
    amount: nanos(row.charged),
    keyId: row.charged_key ?? '',
    at: Number(row.charged_at),
    usage: row.charged_price === null ? undefined : usage,
  }
}
