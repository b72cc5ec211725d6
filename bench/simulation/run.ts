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
  ...{ seconds: 5, warmUpSeconds: 1 },
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

const RATES = [10, 100, 1_000, 10_000, 100_000]
const REPLICAS = [1, 3, 10, 100, 1_000]
const SPREADS: Readonly<Record<Spread, string>> = {
  even: `${ACCOUNTS.toLocaleString('en')} accounts, all alike`,
  zipf: `${ACCOUNTS.toLocaleString('en')} accounts, the first asks twice as often as the second, and so on (Zipf)`,
  one: 'one account alone',
}

function atRate(perSecond: number, replicas: number, spread: Spread): Simulated {
  const seconds = Math.min(60, Math.max(3, REQUESTS / perSecond))
  return simulate({
    ...{ ...COMMON, costs: APART, replicas, databaseCores: DATABASE_CORES, spread, load: { perSecond } },
    ...{ gatewayWork: GATEWAY_WORK, upstream: UPSTREAM, seconds, warmUpSeconds: seconds / 3 },
  })
}

function rowOf(perSecond: number, replicas: number, spread: Spread): string {
  const simulated = atRate(perSecond, replicas, spread)
  const isKept = simulated.perSecond > perSecond * 0.95
  const [busiest, share] = busiestOf(simulated.busy)
  const ms = (microseconds: number) => (isKept ? (microseconds / 1_000).toFixed(1) : '–')
  const cells = [
    ...[whole(perSecond), whole(replicas), isKept ? 'yes' : `no: ${whole(simulated.perSecond)}`],
    ...[ms(simulated.p50), ms(simulated.p99), simulated.operationsPerBatch.toFixed(1)],
    ...[
      whole(simulated.batchesPerSecond),
      whole(simulated.flushesPerSecond),
      `${busiest} ${Math.round(share * 100)} %`,
    ],
  ]
  return `| ${cells.join(' | ')} |`
}

/** Callers enough to keep everything busy, on many accounts or few. */
function most(replicas: number, spread: Spread, databaseCores: number): Simulated {
  const callersPerReplica = Math.ceil(Math.max(64, 4_000 / replicas))
  return simulate({
    ...{ ...COMMON, costs: APART, replicas, databaseCores, spread, load: { callersPerReplica } },
    ...{ seconds: 3, warmUpSeconds: 1 },
  })
}

function busiestOf(busy: Busy): readonly [string, number] {
  return Object.entries(busy).reduce((one, other) => (other[1] > one[1] ? other : one))
}

function mostRow(replicas: number, spread: Spread, databaseCores: number): string {
  const { perSecond, p50, operationsPerBatch, busy } = most(replicas, spread, databaseCores)
  const shares = Object.values(busy).map(share => `${Math.round(share * 100)} %`)
  const cells = [SPREADS[spread], databaseCores, whole(replicas), whole(perSecond), (p50 / 1_000).toFixed(1)]
  return `| ${[...cells, operationsPerBatch.toFixed(1), ...shares].join(' | ')} |`
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
  `${UPSTREAM / 1_000} ms on average. p50 and p99: of hold and settlement together. Busiest: of the database's cores, the log, the most used account's`,
  'row, and the replicas.',
  ...spreads.flatMap(spread => [
    '',
    `#### ${SPREADS[spread]}`,
    '',
    '| requests/s | replicas | kept up with | p50 ms | p99 ms | operations a batch | batches/s | flushes/s | busiest |',
    '|---:|---:|---|---:|---:|---:|---:|---:|---|',
    ...RATES.flatMap(rate => REPLICAS.map(replicas => rowOf(rate, replicas, spread))),
  ]),
  '',
  '#### The most there is',
  '',
  'Callers who ask again as soon as they are answered, at least 4,000 of them in all.',
  '',
  '| accounts | database cores | replicas | pairs/s | p50 ms | operations a batch | database CPU | WAL flush | hot row | replicas |',
  '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
  ...spreads.flatMap(spread => [8, 32].flatMap(cores => REPLICAS.map(replicas => mostRow(replicas, spread, cores)))),
])
