import {
  addSums,
  SUMMARY_MS,
  type SummaryDimension,
  type SummaryRow,
  type UsageFilter,
  type UsageSums,
} from '../core/records.ts'
import { endOfTurn } from '../core/turns.ts'
import type { Database, Dialect, Value } from './database.ts'
import { HOUR_SUMS, type HourSumsRow, toSums } from './rows.ts'

/** Rows that are added up without a pause. */
const SLICE_ROWS = 20_000
const HOURS_A_DAY = 24
const DAY_MS = HOURS_A_DAY * SUMMARY_MS
/** Two months: more than a view shows. */
const EACH_DAYS_MAX = 62

/** A table of sums, and the column that counts its hours or days since 1970. */
interface Table {
  readonly name: 'usage_hours' | 'usage_days'
  readonly time: 'hour' | 'day'
  readonly perDay: number
  /** What dimensions of time are, in milliseconds. */
  readonly day: string
  readonly hour: string
}

const HOURS: Table = {
  name: 'usage_hours',
  time: 'hour',
  perDay: HOURS_A_DAY,
  day: `hour / ${HOURS_A_DAY} * ${DAY_MS}`,
  hour: `hour * ${SUMMARY_MS}`,
}
const DAYS: Table = { name: 'usage_days', time: 'day', perDay: 1, day: `day * ${DAY_MS}`, hour: '' }

/** A part of the asked time, from one of its hours or days up to another, which is not among them. */
interface Stretch {
  readonly table: Table
  readonly from: number
  readonly to: number
}

const COLUMNS: Record<Exclude<SummaryDimension, 'day' | 'hour'>, string> = {
  account: 'account_id',
  key: 'key_id',
  model: 'model',
  channel: 'channel',
  protocol: 'protocol',
  status: 'status',
}

const isTime = (dimension: SummaryDimension): dimension is 'day' | 'hour' => dimension === 'day' || dimension === 'hour'

const columnOf = (dimension: SummaryDimension, table: Table): string =>
  isTime(dimension) ? table[dimension] : COLUMNS[dimension]

interface Wanted {
  readonly filter: UsageFilter
  readonly rowsMax: number
}

/** Adds up hours and days; stops when there are more rows than anyone wants. */
export async function summaryOf(
  db: Database,
  by: readonly SummaryDimension[],
  { filter, rowsMax }: Wanted,
): Promise<SummaryRow[]> {
  const sums = new Map<string, SummaryRow>()
  for (const stretch of stretchesOf(by, filter)) {
    const { table, to: last } = stretch
    for (let from = stretch.from; from < last && sums.size <= rowsMax; ) {
      const end = (await placeAfter(db, table, from)) ?? last
      const rows = await sumsBetween(db, by, {
        filter,
        stretch: { table, from, to: Math.min(end, last) },
        rowsMax,
      })
      for (const row of rows) merge(sums, row)
      from = end
      await endOfTurn()
    }
  }
  return [...sums.values()].sort(inOrder(by.filter(isTime)))
}

/** Whole days from the sums of days, and what is before and after them from those of hours. */
function stretchesOf(by: readonly SummaryDimension[], filter: UsageFilter): Stretch[] {
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = filter
  const [first, last] = [Math.floor(from / SUMMARY_MS), Math.ceil(to / SUMMARY_MS)]
  const [firstDay, lastDay] = [Math.ceil(first / HOURS_A_DAY), Math.floor(last / HOURS_A_DAY)]
  if (by.includes('hour') || firstDay >= lastDay) return [{ table: HOURS, from: first, to: last }]
  return [
    { table: HOURS, from: first, to: firstDay * HOURS_A_DAY },
    { table: DAYS, from: firstDay, to: lastDay },
    { table: HOURS, from: lastDay * HOURS_A_DAY, to: last },
  ]
}

/**
 * Where a slice ends that begins with this hour or day: with an hour or day, however many rows that one has. A server of
 * its own keeps nobody waiting, and adds up all of them at once.
 */
async function placeAfter(db: Database, { name, time }: Table, from: number): Promise<number | undefined> {
  if (db.dialect.name !== 'sqlite') return undefined
  const row = await db.get<{ at: bigint }>(
    `SELECT ${time} AS at FROM ${name} WHERE ${time} >= ? ORDER BY ${time} LIMIT 1 OFFSET ?`,
    from,
    SLICE_ROWS,
  )
  return row && Math.max(Number(row.at), from + 1)
}

interface Asked extends Wanted {
  readonly stretch: Stretch
}

type Row = HourSumsRow & { readonly errors: bigint | null; readonly refused: bigint | null } & Readonly<
    Record<string, bigint | string | null>
  >

async function sumsBetween(db: Database, by: readonly SummaryDimension[], asked: Asked): Promise<SummaryRow[]> {
  const { table } = asked.stretch
  const { sql, values } = where(db.dialect, asked)
  const columns = by.map(dimension => `${columnOf(dimension, table)} AS "${dimension}"`)
  const errors = `CAST(sum(requests) FILTER (WHERE status <> 'ok') AS BIGINT) AS errors`
  const refused = `CAST(sum(requests) FILTER (WHERE status <> 'ok' AND channel = '') AS BIGINT) AS refused`
  const grouping = by.length > 0 ? `GROUP BY ${by.map((_, place) => place + 1).join(', ')}` : 'HAVING count(*) > 0'
  const rows = await db.all<Row>(
    `SELECT ${[...columns, errors, refused, HOUR_SUMS].join(', ')} FROM ${table.name}
     WHERE ${sql} ${grouping} ORDER BY sum(cost) DESC LIMIT ${asked.rowsMax + 1}`,
    ...values,
  )
  return rows.map(row => ({
    by: Object.fromEntries(by.map(name => [name, isTime(name) ? Number(row[name]) : String(row[name])])),
    errors: Number(row.errors ?? 0),
    refused: Number(row.refused ?? 0),
    ...toSums(row),
  }))
}

function where({ name: engine }: Dialect, asked: Asked): Condition {
  const { filter, stretch } = asked
  const { accountId, keyId, model, status, protocol, channel } = filter
  const { table, from, to } = stretch
  const conditions: Condition[] = [
    isEach(engine, asked)
      ? EACH[engine](stretch)
      : { sql: `${table.time} >= ? AND ${table.time} < ?`, values: [from, to] },
    ...when('account_id = ?', accountId),
    ...when('key_id = ?', keyId),
    ...when('model = ?', model),
    ...when('protocol = ?', protocol),
    ...when('channel = ?', channel),
    ...(status === 'error' ? when('status <> ?', 'ok') : when('status = ?', status)),
  ]
  return { sql: conditions.map(({ sql }) => sql).join(' AND '), values: conditions.flatMap(({ values }) => values) }
}

interface Condition {
  readonly sql: string
  readonly values: readonly Value[]
}

const when = (sql: string, value: Value | undefined): Condition[] =>
  value === undefined ? [] : [{ sql, values: [value] }]

/**
 * Of one account always. Of all of them on a server, too, unless they are many: it reckons with rows that lie anywhere,
 * though those of a day lie side by side, and would sooner read years than look up a month.
 */
const isEach = (engine: Dialect['name'], { filter, stretch: { table, from, to } }: Asked): boolean =>
  filter.accountId !== undefined || (engine === 'postgres' && to - from <= EACH_DAYS_MAX * table.perDay)

/** Each hour or day by itself: rows stand by time and account, and so those of other accounts need not be read. */
const EACH: Record<Dialect['name'], (stretch: Stretch) => Condition> = {
  /** Those that have any rows. */
  sqlite: ({ table: { name, time }, from, to }) => ({
    sql: `${time} IN (
      WITH RECURSIVE times (at) AS (
        SELECT min(${time}) FROM ${name} WHERE ${time} >= ? AND ${time} < ?
        UNION ALL
        SELECT (SELECT min(${time}) FROM ${name} WHERE ${time} > at AND ${time} < ?) FROM times WHERE at IS NOT NULL
      )
      SELECT at FROM times WHERE at IS NOT NULL)`,
    values: [from, to, to],
  }),
  /** All between the first and the last that have any: as an array, which an index is gone through with. */
  postgres: ({ table: { name, time }, from, to }) => ({
    sql: `${time} = ANY (ARRAY(SELECT generate_series(
      greatest(CAST(? AS BIGINT), (SELECT min(${time}) FROM ${name})),
      least(CAST(? AS BIGINT), coalesce((SELECT max(${time}) FROM ${name}), -1)))))`,
    values: [from, to - 1],
  }),
}

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
