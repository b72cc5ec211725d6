import type { Page, PageRequest } from '../core/directory.ts'
import type { Entry, UsageRow } from '../core/ledger.ts'
import { nanos } from '../core/money.ts'
import {
  type Receipt,
  type Records,
  SUMMARY_MS,
  type SummaryDimension,
  type SummaryRow,
  type UsageFilter,
} from '../core/records.ts'
import type { EmbeddedDatabase, Value } from './database.ts'
import { page } from './page.ts'
import {
  ENTRIES_WITH_PRICES,
  type EntryRow,
  type PriceRow,
  toEntry,
  toPrice,
  toUsage,
  type UsageTableRow,
} from './rows.ts'
import { usagePage } from './usage-pages.ts'

/** What was used and paid, on the embedded database. */
export class SqliteRecords implements Records {
  private readonly db: EmbeddedDatabase

  constructor(db: EmbeddedDatabase) {
    this.db = db
  }

  usage(request: UsageFilter & PageRequest): Promise<Page<UsageRow>> {
    return usagePage(this.db, request)
  }

  async receipt(requestId: string): Promise<Receipt | undefined> {
    const row = this.db.get<UsageTableRow>('SELECT * FROM usage WHERE request_id = ?', requestId)
    if (!row) return undefined
    const price = this.db.get<PriceRow>('SELECT * FROM prices WHERE id = ?', row.price_id)
    const entry = this.db.get<EntryRow>(
      `${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.kind = 'charge' AND e.source = ?`,
      row.account_id,
      requestId,
    )
    return { row: toUsage(row), price: price && toPrice(price), entry: entry && toEntry(entry) }
  }

  async summary(by: readonly SummaryDimension[], filter: UsageFilter, rowsMax: number): Promise<SummaryRow[]> {
    const { sql, values } = hoursWhere(filter)
    const columns = by.map(dimension => `${COLUMNS[dimension]} AS "${dimension}"`)
    const rows = this.db.all<SumsRow>(
      `SELECT ${[...columns, SUMS].join(', ')} FROM usage_hours WHERE ${sql}
       ${by.length > 0 ? `GROUP BY ${by.map((_, place) => place + 1).join(', ')}` : 'HAVING requests > 0'}
       ORDER BY ${[...by.filter(isTime).map(name => `"${name}"`), 'cost DESC', 'requests DESC'].join(', ')} LIMIT ?`,
      ...values,
      rowsMax,
    )
    return rows.map(row => toSummary(row, by))
  }

  async entries(accountId: string, { cursor, limit }: PageRequest): Promise<Page<Entry>> {
    const rows = this.db.all<EntryRow>(
      `${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.seq < ? ORDER BY e.seq DESC LIMIT ?`,
      accountId,
      cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor),
      limit + 1,
    )
    return page(rows, limit, { map: toEntry, cursorOf: row => String(row.seq) })
  }
}

// ── sums ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const HOURS_A_DAY = 24

const COLUMNS: Record<SummaryDimension, string> = {
  day: `hour / ${HOURS_A_DAY} * ${HOURS_A_DAY * SUMMARY_MS}`,
  hour: `hour * ${SUMMARY_MS}`,
  account: 'account_id',
  key: 'key_id',
  model: 'model',
  channel: 'channel',
  protocol: 'protocol',
  status: 'status',
}

const isTime = (dimension: SummaryDimension): boolean => dimension === 'day' || dimension === 'hour'

const SUMS = `
  sum(requests) AS requests, sum(requests) FILTER (WHERE status <> 'ok') AS errors, sum(input) AS input,
  sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(output) AS output, sum(reasoning) AS reasoning,
  sum(cost) AS cost`

type SumsRow = Readonly<Record<string, bigint | string | null>>

function toSummary(row: SumsRow, by: readonly SummaryDimension[]): SummaryRow {
  const value = (name: string) => Number(row[name] ?? 0)
  return {
    by: Object.fromEntries(by.map(name => [name, isTime(name) ? value(name) : String(row[name])])),
    requests: value('requests'),
    errors: value('errors'),
    usage: {
      input: value('input'),
      cacheRead: value('cache_read'),
      cacheWrite: value('cache_write'),
      output: value('output'),
      reasoning: value('reasoning'),
    },
    cost: nanos(BigInt(row.cost ?? 0)),
  }
}

function hoursWhere({ accountId, keyId, model, status, from, to }: UsageFilter): { sql: string; values: Value[] } {
  const conditions: [sql: string, value: Value | undefined][] = [
    ['hour >= ?', from === undefined ? undefined : Math.floor(from / SUMMARY_MS)],
    ['hour < ?', to === undefined ? undefined : Math.ceil(to / SUMMARY_MS)],
    ['account_id = ?', accountId],
    ['key_id = ?', keyId],
    ['model = ?', model],
    [status === 'error' ? 'status <> ?' : 'status = ?', status === 'error' ? 'ok' : status],
  ]
  const given = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]))
  return { sql: ['1', ...given.map(({ sql }) => sql)].join(' AND '), values: given.map(({ value }) => value) }
}
