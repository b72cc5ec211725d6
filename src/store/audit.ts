import { nanos } from '../core/money.ts'
import type { AccountClaims, Audit, Charge, EntriesSlice, UsageSlice, UsageSums } from '../core/records.ts'
import type { EmbeddedDatabase } from './database.ts'
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

/**
 * Everything there is, for those who want to check it. A slice and what is claimed about it are read without a pause
 * between them, so that they belong together while the ledger goes on.
 */
export class SqliteAudit implements Audit {
  private readonly db: EmbeddedDatabase

  constructor(db: EmbeddedDatabase) {
    this.db = db
  }

  async size() {
    const number = (sql: string) => Number(this.db.get<{ n: bigint | null }>(sql)?.n ?? 0)
    return {
      // Rows are numbered without gaps; counting ten million of them would take the time of checking many.
      rows: number('SELECT max(rowid) AS n FROM entries') + number('SELECT max(id) AS n FROM usage'),
      holds: number('SELECT count(*) AS n FROM holds'),
    }
  }

  async accountIds(): Promise<readonly string[]> {
    // From one account's first entry to the next one's: the entries in between need not be read.
    const rows = this.db.all<{ id: string }>(
      `WITH RECURSIVE paid (id) AS (
         SELECT min(account_id) FROM entries
         UNION ALL
         SELECT (SELECT min(account_id) FROM entries WHERE account_id > paid.id) FROM paid WHERE paid.id IS NOT NULL
       )
       SELECT id FROM accounts UNION SELECT id FROM paid WHERE id IS NOT NULL ORDER BY id`,
    )
    return rows.map(({ id }) => id)
  }

  async entriesAfter(accountId: string, seq: number, limit: number): Promise<EntriesSlice> {
    const rows = this.db.all<EntryRow>(
      `${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`,
      accountId,
      seq,
      limit,
    )
    const isLast = rows.length < limit
    return { entries: rows.map(toEntry), isLast, claims: isLast ? this.claims(accountId) : undefined }
  }

  async usageAfter(id: number, limit: number): Promise<UsageSlice> {
    const rows = this.db.all<UsageTableRow & ChargeColumns>(
      `SELECT u.*, -e.amount AS charged, e.price_id AS charged_price, e.input AS charged_input,
              e.cache_read AS charged_cache_read, e.cache_write AS charged_cache_write, e.output AS charged_output,
              e.key_id AS charged_key, e.at AS charged_at
       FROM usage u
       LEFT JOIN entries e
         ON e.account_id = u.account_id AND e.seq = u.entry_seq AND e.kind = 'charge' AND e.source = u.request_id
       WHERE u.id > ? ORDER BY u.id LIMIT ?`,
      id,
      limit,
    )
    const prices = new Map(this.db.all<PriceRow>('SELECT * FROM prices').map(row => [row.id, toPrice(row)]))
    return {
      rows: rows.map(row => ({
        id: Number(row.id),
        row: toUsage(row),
        price: row.price_id === null ? undefined : prices.get(row.price_id),
        charge: toCharge(row),
      })),
      sums: rows.length < limit ? this.sums() : undefined,
    }
  }

  private claims(accountId: string): AccountClaims | undefined {
    const account = this.db.get<AccountRow>('SELECT * FROM accounts WHERE id = ?', accountId)
    if (!account) return undefined
    const keys = this.db.all<KeyRow>('SELECT * FROM keys WHERE account_id = ? ORDER BY id', accountId)
    const holds = this.db.all<{ key_id: string; held: bigint }>(
      'SELECT key_id, sum(amount) AS held FROM holds WHERE account_id = ? GROUP BY key_id',
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

  private sums(): ReadonlyMap<string, UsageSums> {
    const rows = this.db.all<{ account_id: string } & HourSumsRow>(
      `SELECT account_id, ${HOUR_SUMS} FROM usage_hours GROUP BY account_id`,
    )
    return new Map(rows.map(row => [row.account_id, toSums(row)]))
  }
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
