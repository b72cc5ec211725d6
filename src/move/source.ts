import { newHex } from '../core/ids.ts'
import type { Audit } from '../core/records.ts'
import { Ledger } from '../ledger/ledger.ts'
import { SqlAudit } from '../store/audit.ts'
import { EmbeddedDatabase } from '../store/sqlite/database.ts'
import { SqliteLedger } from '../store/sqlite/ledger.ts'
import { type CopyValue, copyLine } from './copy-text.ts'
import { MOVED_TABLES, type MovedTable, type TableCount } from './tables.ts'

/** Text that is sent at once: enough for a full connection, little enough to be held twice. */
const SLICE_CHARACTERS = 1_000_000

export interface Slice {
  readonly text: string
  readonly rows: number
}

export interface TimeRange {
  readonly from: number
  readonly to: number
}

interface ColumnRow {
  readonly name: string
  readonly type: 'TEXT' | 'INTEGER' | 'BLOB'
}

/** The embedded database that is to be carried over. It is locked for as long as it is open. */
export class MoveSource {
  readonly audit: Audit
  private readonly db: EmbeddedDatabase
  private readonly ledger: SqliteLedger

  constructor(path: string) {
    this.db = new EmbeddedDatabase({ path, durability: 'process' })
    // What is in the journal is in its tables as soon as there is a ledger.
    this.ledger = new SqliteLedger(this.db)
    this.audit = new SqlAudit(this.db)
  }

  counts(): TableCount[] {
    return MOVED_TABLES.map(table => ({ table, rows: this.number(`SELECT count(*) AS n FROM ${table}`) }))
  }

  get openHolds(): number {
    return this.number('SELECT count(*) AS n FROM holds')
  }

  /** As at a start: nothing runs, so whatever is held belongs to calls that were interrupted. Returns how many. */
  recover(clock: () => number): Promise<number> {
    return new Ledger(this.ledger, { owner: newHex(8), clock }).recover()
  }

  /** Those of `slices`, in their order. */
  columns(table: MovedTable): string[] {
    return this.columnsOf(table).map(({ name }) => name)
  }

  /** All rows of a table in the order they were written, as text for `COPY`. */
  *slices(table: MovedTable): Generator<Slice> {
    const values = this.columnsOf(table).map(asText).join(', ')
    let [text, rows] = ['', 0]
    for (const row of this.db.prepare<Record<string, CopyValue>>(`SELECT ${values} FROM ${table}`).iterate()) {
      text += copyLine(Object.values(row))
      rows++
      if (text.length < SLICE_CHARACTERS) continue
      yield { text, rows }
      text = ''
      rows = 0
    }
    if (rows > 0) yield { text, rows }
  }

  /** From the first entry or record to the last; undefined where there is none. */
  range(): TimeRange | undefined {
    const row = this.db.first<{ first: bigint | null; last: bigint | null }>(
      `SELECT min(at) AS first, max(at) AS last
       FROM (SELECT at FROM entries UNION ALL SELECT started_at FROM usage)`,
    )
    return row?.first == null ? undefined : { from: Number(row.first), to: Number(row.last) }
  }

  /** Something that was sealed, of each kind there is. */
  sealed(): (string | Uint8Array)[] {
    const places = ['channel_keys', 'notices', 'captures', 'answers']
    return places.flatMap(table => {
      const row = this.db.first<{ sealed: string | Uint8Array }>(
        `SELECT sealed FROM ${table} WHERE sealed IS NOT NULL LIMIT 1`,
      )
      return row ? [row.sealed] : []
    })
  }

  close(): void {
    this.db.close()
  }

  private columnsOf(table: MovedTable): ColumnRow[] {
    return this.db.rows<ColumnRow>('SELECT name, type FROM pragma_table_info(?)', table)
  }

  private number(sql: string): number {
    return Number(this.db.first<{ n: bigint }>(sql)?.n ?? 0n)
  }
}

/** Numbers beyond 2^53 and bytes come as the text that PostgreSQL reads. */
function asText({ name, type }: ColumnRow): string {
  if (type === 'INTEGER') return `CAST(${name} AS TEXT) AS ${name}`
  return type === 'BLOB' ? `'\\x' || hex(${name}) AS ${name}` : name
}
