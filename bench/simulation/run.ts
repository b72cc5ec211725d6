import { machine, writeResults } from '../results.ts'
import type { Spread } from './chance.ts'
import { type MeasuredRun, readMeasured } from './measured.ts'
import type { Costs, Scenario } from './scenario.ts'
import { type Busy, type Simulated, simulate } from './simulate.ts'

/**
 * The ledger's protocol with more replicas than this machine has room for. First the runs that were measured are simulated,
 * so that it can be seen how far off the simulation is; then what nobody has measured.
 *
 *   npm run bench:simulation
 */

const SEED = 2_026
const MEASURED_CORES = 2
const ACCOUNTS = 10_000
/** More than anyone spends here. */
const BALANCE = 1e15

const { costs, runs, machine: measuredOn } = await readMeasured()

const COMMON: Omit<Scenario, 'costs' | 'replicas' | 'databaseCores' | 'load' | 'spread'> = {
  ...{ accounts: ACCOUNTS, balance: BALANCE, isOneMachine: false, gatewayWork: 0, upstream: 0, deaths: [], seed: SEED },
  ...{ lanes: 1, isSticky: false, seconds: 5, warmUpSeconds: 1, isDrained: false },
}

// ── what was measured ───────────────────────────────────────────────────────────────────────────────────────────────

function simulatedRun({ replicas, callersPerReplica, accounts }: MeasuredRun): Simulated {
  return simulate({
    ...{ ...COMMON, costs, replicas, databaseCores: MEASURED_CORES, isOneMachine: true },
    ...{ load: { callersPerReplica }, spread: accounts === 1 ? 'one' : 'even', accounts },
  })
}

const compared = runs.filter(({ store }) => store === 'postgres').map(run => ({ run, simulated: simulatedRun(run) }))

const deviation = (simulated: number, measured: number): string => {
  const percent = Math.round((simulated / measured - 1) * 100)
  return `${percent > 0 ? '+' : ''}${percent} %`
}

const comparedRows = compared.map(({ run, simulated }) => {
  const p50 = simulated.p50 / 1_000
  return [
    ...[run.accounts.toLocaleString('en'), run.replicas, run.callersPerReplica],
    ...[whole(run.perSecond), whole(simulated.perSecond), deviation(simulated.perSecond, run.perSecond)],
    ...[run.p50.toFixed(2), p50.toFixed(2), deviation(p50, run.p50)],
    ...[run.operationsPerBatch.toFixed(1), simulated.operationsPerBatch.toFixed(1)],
  ]
})

// ── what was not ────────────────────────────────────────────────────────────────────────────────────────────────────

/** A database on a machine of its own in the same data centre; everything else as it was measured here. */
const APART: Costs = { ...costs, roundTrip: Math.max(costs.roundTrip, 500), flush: 1_000 }
const DATABASE_CORES = 32
/** Of a replica for a small chat, besides its ledger: what the embedded store was measured with. */
const GATEWAY_WORK = 140
const UPSTREAM = 200_000
/** Enough requests for a percentile, few enough to wait for. */
const REQUESTS = 150_000

const RATES = [10, 1_000, 10_000, 100_000]
const REPLICAS = [1, 10, 100, 1_000]
/** Nobody falls behind who settles as much as comes in, but for what is under way. */
const KEPT_UP = 0.95
/** Of all replicas together, where the most is looked for. */
const CALLERS = 4_000
/** How it is, how it is with a balancer that keeps an account where it was, and how it could be. */
const WAYS: Readonly<Record<string, Pick<Scenario, 'lanes' | 'isSticky'>>> = {
  'any replica': { lanes: 1, isSticky: false },
  'the same replica': { lanes: 1, isSticky: true },
  'any replica, 8 lanes': { lanes: 8, isSticky: false },
}
const SPREADS: Readonly<Record<Spread, string>> = {
  even: `${ACCOUNTS.toLocaleString('en')} accounts, all alike`,
  zipf: `${ACCOUNTS.toLocaleString('en')} accounts, the first asks twice as often as the second, and so on (Zipf)`,
  one: 'one account alone',
}
const SHORT: Readonly<Record<Spread, string>> = { even: 'alike', zipf: 'Zipf', one: 'one' }

interface Asked {
  readonly perSecond: number
  readonly replicas: number
  readonly spread: Spread
  readonly isSticky: boolean
}

function atRate({ perSecond, replicas, spread, isSticky }: Asked): Simulated {
  const seconds = Math.min(60, Math.max(3, REQUESTS / perSecond))
  return simulate({
    ...{ ...COMMON, costs: APART, replicas, databaseCores: DATABASE_CORES, spread, isSticky, load: { perSecond } },
    ...{ gatewayWork: GATEWAY_WORK, upstream: UPSTREAM, seconds, warmUpSeconds: seconds / 3 },
  })
}

function rowOf(asked: Asked): string {
  const simulated = atRate(asked)
  const isKept = simulated.perSecond > simulated.askedPerSecond * KEPT_UP
  const ms = (microseconds: number) => (isKept ? (microseconds / 1_000).toFixed(1) : '–')
  const cells = [
    ...[whole(asked.perSecond), whole(asked.replicas), asked.isSticky ? 'the same' : 'any'],
    isKept ? 'yes' : `no: ${limitOf(simulated.busy)}`,
    ...[ms(simulated.p50), ms(simulated.p99), simulated.operationsPerBatch.toFixed(1)],
    ...[whole(simulated.batchesPerSecond), whole(simulated.flushesPerSecond), ...sharesOf(simulated.busy)],
  ]
  return `| ${cells.join(' | ')} |`
}

/** The log is no limit: whoever comes while it is flushed shares the next flush, however many they are. */
function limitOf({ 'WAL flush': _, ...limits }: Busy): string {
  const [name] = Object.entries(limits).reduce((one, other) => (other[1] > one[1] ? other : one))
  return name
}

const sharesOf = (busy: Busy): string[] => Object.values(busy).map(share => `${Math.round(share * 100)} %`)

/** Callers enough to keep everything busy, on many accounts or few. */
function mostRow(replicas: number, spread: Spread, way: string): string {
  const { perSecond, p50, operationsPerBatch, busy } = simulate({
    ...{ ...COMMON, ...WAYS[way], costs: APART, replicas, databaseCores: DATABASE_CORES, spread },
    ...{ load: { callersPerReplica: Math.ceil(CALLERS / replicas) }, seconds: 3, warmUpSeconds: 1 },
  })
  // Nobody who came after the warm-up was served.
  const ms = Number.isNaN(p50) ? '–' : (p50 / 1_000).toFixed(1)
  const cells = [SHORT[spread], way, whole(replicas), whole(perSecond), ms]
  return `| ${[...cells, operationsPerBatch.toFixed(1), ...sharesOf(busy)].join(' | ')} |`
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}

const spreads = Object.keys(SPREADS) as Spread[]
await writeResults('simulation', [
  '## Simulation of the ledger with many replicas',
  '',
  `${machine()}; reckoned with what was measured on: ${measuredOn}. \`npm run bench:simulation\`; the same seed gives the same`,
  'figures. Replicas gather operations while their one batch is under way; a batch waits for its accounts in their order, takes',
  "its time of the database's cores, waits for the flush of the log that it shares with others, and gives its accounts free.",
  '',
  '### What was measured, simulated',
  '',
  `Two cores for the replicas, their callers and the database together. The costs come from the runs with one replica; two and`,
  'three are predicted.',
  '',
  '| accounts | replicas | callers a replica | measured, pairs/s | simulated | deviation | measured, p50 ms | simulated | deviation | operations a batch | simulated |',
  '|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
  ...comparedRows.map(row => `| ${row.join(' | ')} |`),
  '',
  '### What was not measured',
  '',
  `A database with ${DATABASE_CORES} cores of its own, ${APART.roundTrip.toFixed(0)} µs away and back, whose log takes ${APART.flush} µs to flush (both assumed); what a batch`,
  `costs it is as measured. Each replica has one core, of which a request takes ${GATEWAY_WORK} µs besides the ledger. An upstream takes`,
  `${UPSTREAM / 1_000} ms on average. p50 and p99: of hold and settlement together. The last columns are how busy the database's cores were, the`,
  'log, the row of the account that was locked longest, and the replicas.',
  ...spreads.flatMap(spread => [
    '',
    `#### ${SPREADS[spread]}`,
    '',
    '| requests/s | replicas | an account goes to | kept up with | p50 ms | p99 ms | operations a batch | batches/s | flushes/s | CPU | log | row | replicas |',
    '|---:|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...RATES.flatMap(perSecond =>
      REPLICAS.flatMap(replicas => [false, true].map(isSticky => rowOf({ perSecond, replicas, spread, isSticky }))),
    ),
  ]),
  '',
  '#### The most there is',
  '',
  `${whole(CALLERS)} callers in all, who ask again as soon as they are answered; what they ask for goes to any replica, or that of an account always to the`,
  'same one. Lanes: batches that a replica has under way at once, with its accounts divided among them; the ledger has one, and the',
  'others show what more would bring.',
  '',
  '| accounts | goes to | replicas | pairs/s | p50 ms | operations a batch | CPU | log | row | replicas |',
  '|---|---|---:|---:|---:|---:|---:|---:|---:|---:|',
  ...spreads.flatMap(spread =>
    Object.keys(WAYS).flatMap(way => REPLICAS.map(replicas => mostRow(replicas, spread, way))),
  ),
])
