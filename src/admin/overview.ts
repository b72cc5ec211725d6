import type { Account, Directory } from '../core/directory.ts'
import { formatDollars, type Nanos } from '../core/money.ts'
import type { Latency, Records, SummaryRow, UsageFilter } from '../core/records.ts'
import type { Standing } from '../core/standing.ts'
import type { Catalog } from '../routing/catalog.ts'
import { accountFor, viewAccount } from './accounts.ts'
import { type AlertsDeps, findAlerts, spendingAccounts } from './alerts.ts'
import { type Chart, chartOf, DAY_MS, dayOf, mostTelling, readDays, seriesOf } from './chart.ts'
import { type LatencyView, OverviewView } from './contract.ts'
import { type Actor, confinedTo, ok, type Routes } from './route.ts'
import { runwayDays } from './runway.ts'
import { refuseUnknown } from './usage-filter.ts'
import { isoTime, viewUsages } from './usage-view.ts'

export interface OverviewDeps extends AlertsDeps {
  readonly directory: Directory
  readonly records: Records
  readonly standing: Standing
  readonly clock: () => number
  catalog(): Catalog
  isSandbox(): boolean
}

const RECENT_ROWS = 10
/** Enough for percentiles that do not jump, few enough to be read in some milliseconds. */
const LATENCY_SAMPLE_MAX = 5_000
/** Points of a chart. */
const ROWS_MAX = 200_000

/** Everything that one look should tell. It is read from sums and from the newest rows, however many there are. */
async function overview(query: URLSearchParams, actor: Actor, deps: OverviewDeps): Promise<OverviewView> {
  refuseUnknown(query, ['account', 'days'])
  const now = deps.clock()
  const chart = chartOf(readDays(query.get('days')), now)
  const account = await accountOf(query, actor, deps)
  const filter = account ? { accountId: account.id } : {}
  const { records, standing } = deps
  // Tomorrow is in it, too: the clock of another replica may be ahead.
  const to = dayOf(now, 2)
  const charted = { ...filter, from: chart.from, to }

  // A server may look for several of them at once.
  const [models, keys, days, { balance, held, spent }, { rows: recent }, steps, latency, others] = await Promise.all([
    records.summary([chart.unit, 'model'], charted, ROWS_MAX),
    rowsOfKeys(chart, charted, records),
    chart.days === '30' ? [] : records.summary(['day'], { ...filter, from: dayOf(now, -29), to }, ROWS_MAX),
    account ?? standing.totals(),
    records.usage({ ...filter, cursor: undefined, limit: RECENT_ROWS }),
    standing.keySteps(account?.id),
    records.latency(charted, LATENCY_SAMPLE_MAX),
    account ? [] : spendingAccounts(now, deps),
  ])
  // Beyond so many, a chart is drawn of the sums alone.
  const isTooMuch = models.length > ROWS_MAX
  const totals = isTooMuch ? await records.summary([chart.unit], charted, ROWS_MAX) : models
  const month = chart.days === '30' ? totals : days
  const since = (from: number) => month.filter(({ by }) => Number(by.day) >= from)
  const week = since(dayOf(now, -6))
  const pace = { spent: costOf(week), days: (now - dayOf(now, -6)) / DAY_MS }

  return {
    account: account ? viewAccount(account) : null,
    balance: formatDollars(balance),
    held: formatDollars(held),
    runway_days: runwayDays(balance, pace),
    today: viewSums(since(dayOf(now, 0))),
    days_7: viewSums(week),
    days_30: viewSums(month),
    latency: viewLatency(latency),
    days: chart.days,
    times: chart.times.map(isoTime),
    ...(await series(chart, { models: isTooMuch ? [] : models, keys, totals }, deps)),
    alerts: await findAlerts({ account, actor, now, spending: account ? [{ account, pace }] : others }, deps),
    recent: await viewUsages(recent, { actor, ...deps }),
    steps: {
      channel: !deps.isSandbox(),
      key: steps.hasOwn,
      request: spent > 0n || month.some(({ requests, errors }) => requests > errors),
      cap: steps.hasCap,
    },
  }
}

/** Undefined for an admin who looks at all of them. */
async function accountOf(
  query: URLSearchParams,
  actor: Actor,
  { directory }: OverviewDeps,
): Promise<Account | undefined> {
  const wanted = query.get('account') || confinedTo(actor)
  return wanted === undefined ? undefined : accountFor(actor, wanted, directory)
}

interface Charted {
  /** By time and model. */
  readonly models: readonly SummaryRow[]
  /** By time and key, of some keys. */
  readonly keys: readonly SummaryRow[]
  /** By time, of everything. */
  readonly totals: readonly SummaryRow[]
}

async function series(
  chart: Chart,
  { models, keys, totals }: Charted,
  { directory, catalog }: OverviewDeps,
): Promise<Pick<OverviewView, 'by_model' | 'by_key'>> {
  const byModel = seriesOf(chart, { totals, dimension: 'model', rows: models })
  const byKey = seriesOf(chart, { totals, dimension: 'key', rows: keys })
  const keyNames = await directory.keyNames(byKey.map(({ id }) => id))
  return {
    by_model: byModel.map(line => ({ ...line, name: catalog().models.get(line.id)?.name ?? line.id })),
    by_key: byKey.map(line => ({ ...line, name: keyNames.get(line.id) ?? line.id })),
  }
}

/** By time, of those keys only that will have a line: there may be thousands. */
async function rowsOfKeys(chart: Chart, filter: UsageFilter, records: Records): Promise<readonly SummaryRow[]> {
  const keys = await records.summary(['account', 'key'], filter, ROWS_MAX)
  const rows = await Promise.all(
    mostTelling(keys.length > ROWS_MAX ? [] : keys).map(async ({ by: { account, key } }) => {
      const ofKey = { ...filter, accountId: String(account), keyId: String(key) }
      const times = await records.summary([chart.unit], ofKey, ROWS_MAX)
      return times.map(row => ({ ...row, by: { ...row.by, key: String(key) } }))
    }),
  )
  return rows.flat()
}

const costOf = (rows: readonly SummaryRow[]): Nanos =>
  rows.reduce((sum, { cost }) => (sum + cost) as Nanos, 0n as Nanos)

const viewSums = (rows: readonly SummaryRow[]): OverviewView['today'] => ({
  cost: formatDollars(costOf(rows)),
  requests: rows.reduce((sum, { requests }) => sum + requests, 0),
  errors: rows.reduce((sum, { errors, refused }) => sum + errors - refused, 0),
  refused: rows.reduce((sum, { refused }) => sum + refused, 0),
})

const viewLatency = ({ sample, duration, firstByte }: Latency): LatencyView => ({
  sample,
  p50_ms: duration?.p50 ?? null,
  p95_ms: duration?.p95 ?? null,
  first_byte_p50_ms: firstByte?.p50 ?? null,
  first_byte_p95_ms: firstByte?.p95 ?? null,
})

export const overviewRoutes: Routes<OverviewDeps> = {
  'GET /overview': {
    access: 'member',
    summary: 'What one look should tell: money, requests, latency, charts, and what is unusual',
    query: {
      days: 'The range of the charts: `1` (by the hour), `7` or `30` (by the day, UTC).',
      account: 'Of this account only; all accounts together if an admin names none.',
    },
    answers: { 200: OverviewView },
    handle: async ({ call, actor, deps }) => ok(await overview(call.query, actor, deps)),
  },
}
