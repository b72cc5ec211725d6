import type { Page, PageRequest } from '../core/directory.ts'
import type { UsageRow } from '../core/ledger.ts'
import type { UsageFilter } from '../core/records.ts'
import { endOfTurn } from '../core/turns.ts'
import type { Database, Dialect, Value } from './database.ts'
import { page } from './page.ts'
import { toUsage, type UsageTableRow } from './rows.ts'

/** So few that no other index has to be thought of. */
const FEW_ROWS = 1_000
/** Rows that one page may pass over in search of its own. Beyond that it comes as it is, with a cursor to go on from. */
const PAGE_SCAN_ROWS_MAX = 200_000

interface Scan {
  /** Rows that the first look at the table may pass over, and how many times as many each look after it. */
  readonly sliceRows: number
  readonly growth: number
  /** No look begins after that time. */
  readonly msMax: number
}

const SCANS: Record<Dialect['name'], Scan> = {
  // Some milliseconds, after which other work has its turn.
  sqlite: { sliceRows: 1_000, growth: 1, msMax: Number.POSITIVE_INFINITY },
  // A server keeps nobody else waiting, and each look is a way there and back; how fast it is depends on its disks.
  postgres: { sliceRows: 1_000, growth: 2, msMax: 60 },
}

interface Condition {
  readonly sql: string
  readonly values: readonly Value[]
}

/** A place in the order of pages: newest first, and among requests of one millisecond the last one written. */
interface Place {
  readonly startedAt: number
  readonly id: number
}

interface Filters {
  /** The one that an index answers, together with the order of the rows. */
  readonly indexed: Condition & { readonly index: string }
  /** All others. */
  readonly rest: Condition | undefined
}

/**
 * One page of usage records. One filter (the most telling of those given) and the order come from an index; rows that
 * the other filters refuse are passed over in slices, so that no question about ten million rows stops the gateway.
 */
export async function usagePage(
  db: Database,
  { cursor, limit, ...filter }: UsageFilter & PageRequest,
): Promise<Page<UsageRow>> {
  const range = { from: filter.from ?? 0, ...startOf(cursor, filter.to) }
  const filters = await bestFilters(db, filter, range)
  if (!filters.rest) return pageOf(await rowsIn(db, filters, { ...range, limit: limit + 1 }), limit)

  const found: UsageTableRow[] = []
  const { sliceRows, growth, msMax } = SCANS[db.dialect.name]
  const deadline = performance.now() + msMax
  let after: Place = range
  for (let [rows, scanned] = [sliceRows, 0]; scanned < PAGE_SCAN_ROWS_MAX && performance.now() < deadline; ) {
    const end = await placeAfter(db, filters.indexed, { ...range, ...after, rows })
    found.push(...(await rowsIn(db, filters, { ...range, ...after, end, limit: limit + 1 })))
    if (found.length > limit || !end) return pageOf(found, limit)
    after = end
    scanned += rows
    rows *= growth
    await endOfTurn()
  }
  return { rows: found.map(toUsage), next: cursorOf(after) }
}

const pageOf = (rows: readonly UsageTableRow[], limit: number): Page<UsageRow> =>
  page(rows, limit, {
    map: toUsage,
    cursorOf: row => cursorOf({ startedAt: Number(row.started_at), id: Number(row.id) }),
  })

// ── cursors ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const CURSOR = /^(\d{1,15})-(\d{1,15})$/

const cursorOf = ({ startedAt, id }: Place): string => `${startedAt}-${id}`

/** Rows come after this place; without a cursor, all that started before `to`. */
function startOf(cursor: string | undefined, to = Number.MAX_SAFE_INTEGER): Place {
  const [, startedAt, id] = CURSOR.exec(cursor ?? '') ?? []
  const isWithin = startedAt !== undefined && Number(startedAt) < to
  return isWithin ? { startedAt: Number(startedAt), id: Number(id) } : { startedAt: to, id: 0 }
}

// ── questions ───────────────────────────────────────────────────────────────────────────────────────────────────────

type Indexed = Filters['indexed']

/** One that has few rows settles the matter; else the first one: see the order of `conditionsOf`. */
async function bestFilters(db: Database, filter: UsageFilter, range: Place & { from: number }): Promise<Filters> {
  const { indexed } = conditionsOf(filter)
  if (indexed.length < 2) return filtersOf(filter)
  for (const condition of indexed) {
    if (!(await placeAfter(db, condition, { ...range, rows: FEW_ROWS }))) return filtersOf(filter, condition.index)
  }
  return filtersOf(filter)
}

/** By the index of that name, or the most telling one without looking. */
export function filtersOf(filter: UsageFilter, index?: string): Filters {
  const { indexed, others } = conditionsOf(filter)
  const best = indexed.find(condition => condition.index === index) ?? indexed[0]
  const rest = [...indexed.filter(condition => condition !== best), ...others]
  const sql = rest.map(condition => condition.sql).join(' AND ')
  return {
    indexed: best ?? { index: 'usage_by_time', sql: 'TRUE', values: [] },
    rest: rest.length > 0 ? { sql, values: rest.flatMap(({ values }) => values) } : undefined,
  }
}

/** A key has fewer rows than its account, and failures are fewer than models. */
function conditionsOf(filter: UsageFilter): { indexed: Indexed[]; others: Condition[] } {
  const { accountId, keyId, model, status, protocol, channel } = filter
  const indexed: Indexed[] = []
  const others: Condition[] = []
  if (keyId !== undefined) indexed.push({ index: 'usage_by_key', sql: 'key_id = ?', values: [keyId] })
  if (status === 'error') indexed.push({ index: 'usage_by_failure', sql: `status <> 'ok'`, values: [] })
  else if (status !== undefined && status !== 'ok') {
    indexed.push({ index: 'usage_by_status', sql: `status <> 'ok' AND status = ?`, values: [status] })
  }
  if (accountId !== undefined) indexed.push({ index: 'usage_by_account', sql: 'account_id = ?', values: [accountId] })
  if (model !== undefined) indexed.push({ index: 'usage_by_model', sql: 'model = ?', values: [model] })
  if (status === 'ok') others.push({ sql: `status = 'ok'`, values: [] })
  if (protocol !== undefined) others.push({ sql: 'protocol = ?', values: [protocol] })
  if (channel !== undefined) others.push({ sql: 'channel = ?', values: [channel] })
  return { indexed, others }
}

const AFTER = 'started_at >= ? AND started_at <= ? AND (started_at < ? OR id < ?)'
const UP_TO = 'started_at >= ? AND (started_at > ? OR id >= ?)'
const NEWEST_FIRST = 'ORDER BY started_at DESC, id DESC'

interface Range extends Place {
  readonly from: number
  readonly end?: Place | undefined
  readonly limit: number
}

function rowsIn(db: Database, { indexed, rest }: Filters, range: Range): Promise<readonly UsageTableRow[]> {
  const { from, startedAt, id, end, limit } = range
  const conditions: Condition[] = [
    indexed,
    { sql: AFTER, values: [from, startedAt, startedAt, id] },
    ...(end ? [{ sql: UP_TO, values: [end.startedAt, end.startedAt, end.id] }] : []),
    ...(rest ? [rest] : []),
  ]
  return db.all<UsageTableRow>(
    `SELECT * FROM usage ${db.dialect.usingIndex(indexed.index)}
     WHERE ${conditions.map(({ sql }) => sql).join(' AND ')} ${NEWEST_FIRST} LIMIT ?`,
    ...conditions.flatMap(({ values }) => values),
    limit,
  )
}

/** Where so many rows further on are passed; undefined if there are not so many. */
async function placeAfter(
  db: Database,
  { index, sql, values }: Indexed,
  { from, startedAt, id, rows }: Place & { from: number; rows: number },
): Promise<Place | undefined> {
  const row = await db.get<{ started_at: bigint; id: bigint }>(
    `SELECT started_at, id FROM usage ${db.dialect.usingIndex(index)}
     WHERE ${sql} AND ${AFTER} ${NEWEST_FIRST} LIMIT 1 OFFSET ${rows - 1}`,
    ...[...values, from, startedAt, startedAt, id],
  )
  return row && { startedAt: Number(row.started_at), id: Number(row.id) }
}
