import { startPostgres } from '../../test/support/postgres.ts'
import { say } from '../report/progress.ts'
import { machine, writeResults } from '../results.ts'
import { writeMeasured } from '../simulation/measured.ts'
import { type Contest, hold } from './contest.ts'
import { type Figures, figuresOf, medians } from './figures.ts'
import { costsOf, type Run } from './fit.ts'
import { pollCost } from './poll.ts'

/**
 * Hold and settle on PostgreSQL: one account that everyone asks for, and ten thousand; one, two and three processes. The
 * embedded database does the same beside it, in the same rounds. What is measured here is what the simulation reckons with.
 *
 *   npm run bench:ledger-postgres [-- --rounds 3 --seconds 3 --callers 1,32,256 --quick]
 */

const IS_QUICK = process.argv.includes('--quick')
const ROUNDS = numberOption('--rounds', IS_QUICK ? 1 : 3)
const SECONDS = numberOption('--seconds', IS_QUICK ? 1 : 3)
const CALLERS = (textOption('--callers') ?? '1,32,256').split(',').map(Number)
const ACCOUNTS = [1, 10_000]
/** As in production: what is committed is on the disk. */
const SETTINGS = { shared_buffers: '512MB', max_wal_size: '4GB', track_wal_io_timing: 'on' }

const EMBEDDED = ['sqlite process', 'sqlite power'] as const

const contests: Contest[] = ACCOUNTS.flatMap(accounts =>
  CALLERS.flatMap(callersPerReplica => [
    ...EMBEDDED.map(store => ({ store, replicas: 1, callersPerReplica, accounts })),
    ...[1, 2, 3].map(replicas => ({ store: 'postgres' as const, replicas, callersPerReplica, accounts })),
  ]),
)

const server = await startPostgres({ fsync: true, settings: SETTINGS })
const rounds = new Map<Contest, Figures[]>(contests.map(contest => [contest, []]))
for (let round = 1; round <= ROUNDS; round++) {
  for (const [contest, figures] of rounds) {
    const measured = figuresOf(await hold(contest, SECONDS, server))
    figures.push(measured)
    say(`round ${round} of ${ROUNDS}: ${nameOf(contest)}: ${measured.perSecond.toFixed(0)} pairs/s`)
  }
}
const databasePerPoll = await pollCost(server)
const runs: Run[] = [...rounds].map(([contest, figures]) => ({ ...contest, figures: medians(figures) }))
const costs = costsOf(runs, databasePerPoll)
await server.stop()

await writeResults('ledger-postgres', [
  '## Ledger on PostgreSQL: hold + settle',
  '',
  `${machine()}; PostgreSQL with \`fsync\` on. Medians of ${ROUNDS} rounds of ${SECONDS} s after a warm-up, each on a new database,`,
  'with the usage record; `npm run bench:ledger-postgres`. Replicas, their callers and the server share both cores: nothing is',
  'pinned. The embedded database beside it has one process; `power` waits for the disk as PostgreSQL does, `process` does not.',
  '',
  ...tableOf(runs),
  '',
  ...rowsOf(runs),
  '',
  'What a batch costs, fitted to the runs with one replica, in microseconds (the simulation reckons with these):',
  '',
  '| database, a batch | beside it | an operation | an account | Duet, a batch | an operation | flush of the log | round trip | polls of an idle replica, a second |',
  '|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
  `| ${[
    ...[costs.databasePerBatch, costs.databaseBeside, costs.databasePerOperation, costs.databasePerAccount],
    ...[costs.replicaPerBatch, costs.replicaPerOperation, costs.flush, costs.roundTrip, costs.databasePerPoll],
  ]
    .map(value => value.toFixed(0))
    .join(' | ')} |`,
])
// What is taken in a hurry is not reckoned with.
if (!IS_QUICK) await writeMeasured({ machine: machine(), costs, runs: runs.map(measuredRun) })
process.exit(0)

function nameOf({ store, replicas, callersPerReplica, accounts }: Contest): string {
  return `${store} × ${replicas}, ${callersPerReplica} callers each, ${accounts} accounts`
}

function tableOf(all: readonly Run[]): string[] {
  const rows = all.map(run => {
    const { store, replicas, callersPerReplica, accounts, figures } = run
    const isShared = store === 'postgres'
    const beside = (other: Contest['store']) => {
      const same = all.find(
        one => one.store === other && one.callersPerReplica === callersPerReplica && one.accounts === accounts,
      )
      return same && isShared ? (figures.perSecond / same.figures.perSecond).toFixed(2) : '–'
    }
    return [
      ...[
        accounts.toLocaleString('en'),
        callersPerReplica,
        isShared ? `PostgreSQL × ${replicas}` : `SQLite, ${store.slice(7)}`,
      ],
      ...[Math.round(figures.perSecond).toLocaleString('en'), beside('sqlite process'), beside('sqlite power')],
      ...[figures.p50.toFixed(2), figures.p99.toFixed(2), figures.operationsPerBatch.toFixed(1)],
      ...[figures.roundTripsPerPair.toFixed(3), figures.duetPerPair.toFixed(0)],
      ...(isShared ? [figures.databasePerPair.toFixed(0), figures.walBytesPerPair.toFixed(0)] : ['–', '–']),
    ]
  })
  return [
    '| accounts | callers a replica | store | pairs/s | x SQLite, process | x SQLite, power | p50 ms | p99 ms | operations a batch | round trips a pair | Duet, CPU µs a pair | database, CPU µs | WAL bytes |',
    '|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...rows.map(row => `| ${row.join(' | ')} |`),
  ]
}

function rowsOf(all: readonly Run[]): string[] {
  const rows = all
    .filter(({ store, replicas }) => store === 'postgres' && replicas === 1)
    .map(({ accounts, callersPerReplica, figures }) => {
      const { insertedPerPair, updatedPerPair, deletedPerPair, bytesPerPair } = figures
      const counts = [insertedPerPair, updatedPerPair, deletedPerPair].map(count => count.toFixed(2))
      return `| ${[accounts.toLocaleString('en'), callersPerReplica, ...counts, bytesPerPair.toFixed(0)].join(' | ')} |`
    })
  return [
    'Rows written for a pair, and the bytes of usage, entries and sums with their indices that stay:',
    '',
    '| accounts | callers | inserted | updated | deleted | bytes |',
    '|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ]
}

function measuredRun({ figures, ...contest }: Run) {
  const { perSecond, p50, p99, operationsPerBatch } = figures
  return { ...contest, perSecond, p50, p99, operationsPerBatch }
}

function numberOption(name: string, fallback: number): number {
  return Number(textOption(name) ?? fallback)
}

function textOption(name: string): string | undefined {
  const place = process.argv.indexOf(name)
  return place === -1 ? undefined : process.argv[place + 1]
}
