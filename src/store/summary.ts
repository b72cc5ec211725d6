import {
  addSums,
  SUMMARY_MS,
  type SummaryDimension,
  type SummaryRow,
  type UsageFilter,
  type UsageSums,
} from '../core/records.ts'
import { endOfTurn } from '../core/turns.ts'
import type { EmbeddedDatabase, Value } from './database.ts'
import { HOUR_SUMS, type HourSumsRow, toSums } from './rows.ts'

/** Rows that are added up without a pause. */
const SLICE_ROWS = 20_000
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

/** Adds up hours, some at a time; stops when there are more rows than anyone wants. */
export async function summaryOf(
  db: EmbeddedDatabase,
  by: readonly SummaryDimension[],
  { filter, rowsMax }: { readonly filter: UsageFilter; readonly rowsMax: number },
): Promise<SummaryRow[]> {
  const sums = new Map<string, SummaryRow>()
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = filter
  const last = Math.ceil(to / SUMMARY_MS)
  for (let hour = Math.floor(from / SUMMARY_MS); hour < last && sums.size <= rowsMax; ) {
    const end = hourAfter(db, hour) ?? last
    for (const row of sumsBetween(db, by, { filter, from: hour, to: Math.min(end, last) })) merge(sums, row)
    hour = end
    await endOfTurn()
  }
  return [...sums.values()].sort(inOrder(by.filter(isTime)))
}

/** Where a slice ends that begins with this hour: with an hour, however many rows that one has. */
function hourAfter(db: EmbeddedDatabase, hour: number): number | undefined {
  const row = db.get<{ hour: bigint }>(
    'SELECT hour FROM usage_hours WHERE hour >= ? ORDER BY hour LIMIT 1 OFFSET ?',
    hour,
    SLICE_ROWS,
  )
  return row && Math.max(Number(row.hour), hour + 1)
}

interface Hours {
  readonly filter: UsageFilter
  readonly from: number
  readonly to: number
}

type Row = HourSumsRow & { readonly errors: bigint | null; readonly refused: bigint | null } & Readonly<
    Record<string, bigint | string | null>
  >

function sumsBetween(db: EmbeddedDatabase, by: readonly SummaryDimension[], hours: Hours): SummaryRow[] {
  const { sql, values } = where(hours)
  const columns = by.map(dimension => `${COLUMNS[dimension]} AS "${dimension}"`)
  const errors = `sum(requests) FILTER (WHERE status <> 'ok') AS errors`
  const refused = `sum(requests) FILTER (WHERE status <> 'ok' AND channel = '') AS refused`
  const grouping = by.length > 0 ? `GROUP BY ${by.map((_, place) => place + 1).join(', ')}` : 'HAVING count(*) > 0'
  const rows = db.all<Row>(
    `SELECT ${[...columns, errors, refused, HOUR_SUMS].join(', ')} FROM usage_hours WHERE ${sql} ${grouping}`,
    ...values,
  )
  return rows.map(row => ({
    by: Object.fromEntries(by.map(name => [name, isTime(name) ? Number(row[name]) : String(row[name])])),
    errors: Number(row.errors ?? 0),
    refused: Number(row.refused ?? 0),
    ...toSums(row),
  }))
}

function where({ filter, from, to }: Hours): { sql: string; values: Value[] } {
  const { accountId, keyId, model, status, protocol, channel } = filter
  // Rows stand by hour and account: hour by hour, those of other accounts need not be read.
  const hours = accountId === undefined ? 'hour >= ? AND hour < ?' : `hour IN (${EACH_HOUR}) AND account_id = ?`
  const conditions: [sql: string, value: Value | undefined][] = [
    ['key_id = ?', keyId],
    ['model = ?', model],
    ['protocol = ?', protocol],
    ['channel = ?', channel],
    [status === 'error' ? 'status <> ?' : 'status = ?', status === 'error' ? 'ok' : status],
  ]
  const given = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]))
  return {
    sql: [hours, ...given.map(({ sql }) => sql)].join(' AND '),
    values: [...(accountId === undefined ? [from, to] : [from, to, to, accountId]), ...given.map(({ value }) => value)],
  }
}

/** The hours that have any rows. */
const EACH_HOUR = `
  WITH RECURSIVE hours (at) AS (
    SELECT min(hour) FROM usage_hours WHERE hour >= ? AND hour < ?
    UNION ALL
    SELECT (SELECT min(hour) FROM usage_hours WHERE hour > at AND hour < ?) FROM hours WHERE at IS NOT NULL
  )
  SELECT at FROM hours WHERE at IS NOT NULL`

function merge(sums: Map<string, SummaryRow>, row: SummaryRow): void {
  const name = JSON.stringify(Object.values(row.by))
  const before = sums.get(name)
  if (!before) return void sums.set(name, row)
  const [errors, refused] = [before.errors + row.errors, before.refused + row.refused]
  sums.set(name, { ...row, ...addSums(before, row), errors, refused })
}

/** Times as they passed, and what cost most first. */
const inOrder =
  (times: readonly SummaryDimension[]) =>
  (a: SummaryRow, b: SummaryRow): number => {
    for (const name of times) {
      const difference = Number(a.by[name]) - Number(b.by[name])
      if (difference !== 0) return difference
    }
    return compare(b, a)
  }

const compare = (a: UsageSums, b: UsageSums): number =>
  a.cost === b.cost ? a.requests - b.requests : a.cost < b.cost ? -1 : 1
