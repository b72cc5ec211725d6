import type { Page, PageRequest } from '../core/directory.ts'
import type { Entry, UsageRow } from '../core/ledger.ts'
import type { Latency, NewUsage, Receipt, Records, SummaryDimension, SummaryRow, UsageFilter } from '../core/records.ts'
import type { EmbeddedDatabase } from './database.ts'
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
      `${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.seq = ?`,
      row.account_id,
      row.entry_seq,
    )
    return { row: toUsage(row), price: price && toPrice(price), entry: entry && toEntry(entry) }
  }

  async usagePlace(): Promise<number> {
    return Number(this.db.get<{ id: bigint | null }>('SELECT max(id) AS id FROM usage')?.id ?? 0)
  }

  async usageSince(place: number, { accountId }: Pick<UsageFilter, 'accountId'>, rowsMax: number): Promise<NewUsage> {
    const end = await this.usagePlace()
    // Not by the index of accounts: what was written since the last look is a handful of rows.
    const rows = this.db.all<UsageTableRow>(
      'SELECT * FROM usage WHERE id > ? AND id <= ? AND (? IS NULL OR +account_id = ?) ORDER BY id DESC LIMIT ?',
      ...[place, end, accountId ?? null, accountId ?? null, rowsMax],
    )
    return { rows: rows.reverse().map(toUsage), place: end }
  }

  async latency(filter: UsageFilter, sampleMax: number): Promise<Latency> {
    return latencyOf(this.db, filter, sampleMax)
  }

  summary(by: readonly SummaryDimension[], filter: UsageFilter, rowsMax: number): Promise<SummaryRow[]> {
    return summaryOf(this.db, by, { filter, rowsMax })
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
