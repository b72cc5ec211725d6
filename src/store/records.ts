import type { Page, PageRequest } from '../core/directory.ts'
import type { Entry, UsageRow } from '../core/ledger.ts'
import type { Latency, NewUsage, Receipt, Records, SummaryDimension, SummaryRow, UsageFilter } from '../core/records.ts'
import type { Database } from './database.ts'
import { latencyOf } from './latency.ts'
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
import { summaryOf } from './summary.ts'
import { usageEnd } from './usage-end.ts'
import { usageOf } from './usage-of.ts'
import { usagePage } from './usage-pages.ts'

const DAY_MS = 86_400_000n

/** What was used and paid. */
export class SqlRecords implements Records {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  usage(request: UsageFilter & PageRequest): Promise<Page<UsageRow>> {
    return usagePage(this.db, request)
  }

  async receipt(requestId: string): Promise<Receipt | undefined> {
    const row = await usageOf(this.db, requestId)
    if (!row) return undefined
    const price = await this.db.get<PriceRow>('SELECT * FROM prices WHERE id = ?', row.price_id)
    // A charge is made when its request ends: not all months need be looked at.
    const endedAt = row.started_at + row.duration_ms
    const entry = await this.db.get<EntryRow>(
      `${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.seq = ? AND e.at BETWEEN ? AND ?`,
      ...[row.account_id, row.entry_seq, endedAt - DAY_MS, endedAt + DAY_MS],
    )
    return { row: toUsage(row), price: price && toPrice(price), entry: entry && toEntry(entry) }
  }

  usagePlace(): Promise<number> {
    return usageEnd(this.db)
  }

  async usageSince(place: number, { accountId }: Pick<UsageFilter, 'accountId'>, rowsMax: number): Promise<NewUsage> {
    const end = await usageEnd(this.db)
    // Not by the index of accounts, which cannot find a sum of texts: what was written since the last look is a handful.
    const own = accountId === undefined ? 'TRUE' : `account_id || '' = ?`
    const rows = await this.db.all<UsageTableRow>(
      `SELECT * FROM usage WHERE id > ? AND id <= ? AND ${own} ORDER BY id DESC LIMIT ?`,
      ...[place, end, ...(accountId === undefined ? [] : [accountId]), rowsMax],
    )
    return { rows: rows.map(toUsage).reverse(), place: end }
  }

  latency(filter: UsageFilter, sampleMax: number): Promise<Latency> {
    return latencyOf(this.db, filter, sampleMax)
  }

  summary(by: readonly SummaryDimension[], filter: UsageFilter, rowsMax: number): Promise<SummaryRow[]> {
    return summaryOf(this.db, by, { filter, rowsMax })
  }

  async entries(accountId: string, { cursor, limit }: PageRequest): Promise<Page<Entry>> {
    const rows = await this.db.all<EntryRow>(
      `${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.seq < ? ORDER BY e.seq DESC LIMIT ?`,
      accountId,
      cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor),
      limit + 1,
    )
    return page(rows, limit, { map: toEntry, cursorOf: row => String(row.seq) })
  }
}
