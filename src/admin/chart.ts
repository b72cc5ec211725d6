import { atLeastZero, formatDollars, type Nanos, nanos, ZERO } from '../core/money.ts'
import { SUMMARY_MS, type SummaryRow } from '../core/records.ts'
import type { OverviewView, SeriesView } from './contract.ts'
import { unprocessable } from './failure.ts'

export const DAY_MS = 86_400_000
const HOURS_A_DAY = 24
/** More lines than this cannot be told apart. */
const SERIES_MAX = 6

type Days = OverviewView['days']

/** The times of a chart: the beginning of each of its hours or days, UTC, the last of them under way. */
export interface Chart {
  readonly days: Days
  readonly unit: 'hour' | 'day'
  readonly from: number
  readonly times: readonly number[]
}

export function readDays(text: string | null): Days {
  if (text === null || text === '') return '7'
  if (text === '1' || text === '7' || text === '30') return text
  throw unprocessable('days: must be 1, 7 or 30', 'days')
}

/** The beginning of the day, UTC, that is so many days away. */
export const dayOf = (now: number, away: number): number => Math.floor(now / DAY_MS + away) * DAY_MS

export function chartOf(days: Days, now: number): Chart {
  const [unit, length, step] =
    days === '1' ? (['hour', HOURS_A_DAY, SUMMARY_MS] as const) : (['day', Number(days), DAY_MS] as const)
  const last = Math.floor(now / step) * step
  const times = Array.from({ length }, (_, place) => last - (length - 1 - place) * step)
  return { days, unit, from: times[0] ?? last, times }
}

interface Dimension {
  readonly dimension: 'model' | 'key'
  /** By time and by the dimension. */
  readonly rows: readonly SummaryRow[]
  /** By time, of everything. Read at another moment, perhaps. */
  readonly totals: readonly SummaryRow[]
}

/** The lines of a chart: what cost most, and all others together, which is everything where there are too many. */
export function seriesOf(chart: Chart, { dimension, rows, totals }: Dimension): Omit<SeriesView, 'name'>[] {
  const lines = new Map<string, Line>()
  for (const row of rows) {
    const id = String(row.by[dimension])
    const line = lines.get(id) ?? new Line(id, chart)
    line.add(row)
    lines.set(id, line)
  }
  // What was never answered and cost nothing may be a name that somebody mistyped.
  const known = [...lines.values()].filter(line => line.answered > 0 || line.total > ZERO)
  const first = known.sort(byCost).slice(0, SERIES_MAX)
  const other = new Line('other', chart)
  for (const row of totals) other.add(row)
  for (const line of first) other.subtract(line)
  return [...first, ...(other.count === 0 ? [] : [other])].map(line => line.view())
}

/** Of rows that are not by time: those whose lines a chart will have, in the same order. */
export const mostTelling = (rows: readonly SummaryRow[]): readonly SummaryRow[] =>
  rows
    .filter(({ requests, errors, cost }) => requests > errors || cost > ZERO)
    .toSorted((a, b) => (a.cost === b.cost ? b.requests - a.requests : a.cost < b.cost ? 1 : -1))
    .slice(0, SERIES_MAX)

/** One line of a chart while it is drawn. */
class Line {
  readonly id: string
  answered = 0
  private readonly chart: Chart
  private readonly cost: Nanos[]
  private readonly requests: number[]

  constructor(id: string, chart: Chart) {
    this.id = id
    this.chart = chart
    this.cost = chart.times.map(() => ZERO)
    this.requests = chart.times.map(() => 0)
  }

  get total(): Nanos {
    return this.cost.reduce((sum, cost) => nanos(sum + cost), ZERO)
  }

  get count(): number {
    return this.requests.reduce((sum, requests) => sum + requests, 0)
  }

  add({ by, cost, requests, errors }: SummaryRow): void {
    this.answered += requests - errors
    const at = Number(by.hour ?? by.day)
    const place = this.chart.times.indexOf(this.chart.unit === 'day' ? dayOf(at, 0) : at)
    // Of other times than the chart's, the latest of which may have begun after the question.
    if (place < 0) return
    this.cost[place] = nanos((this.cost[place] ?? ZERO) + cost)
    this.requests[place] = (this.requests[place] ?? 0) + requests
  }

  subtract(line: Line): void {
    for (const place of this.chart.times.keys()) {
      this.cost[place] = atLeastZero(nanos((this.cost[place] ?? ZERO) - (line.cost[place] ?? ZERO)))
      this.requests[place] = Math.max(0, (this.requests[place] ?? 0) - (line.requests[place] ?? 0))
    }
  }

  view(): Omit<SeriesView, 'name'> {
    return {
      id: this.id,
      cost: this.cost.map(formatDollars),
      requests: this.requests,
      total: formatDollars(this.total),
    }
  }
}

const byCost = (a: Line, b: Line): number => {
  const [costOfA, costOfB] = [a.total, b.total]
  if (costOfA !== costOfB) return costOfA < costOfB ? 1 : -1
  return b.count - a.count
}
