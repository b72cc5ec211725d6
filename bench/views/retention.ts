import { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { monthOf, monthsLater } from '../../src/store/postgres/months.ts'
import { Partitions } from '../../src/store/postgres/partitions.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import type { Counted } from '../ledger-postgres/callers.ts'
import { Child } from '../ledger-postgres/child.ts'
import { machine, writeResults } from '../results.ts'
import { fill } from './fill.ts'
import type { Past } from './past.ts'
import { sizesOf } from './sizes.ts'

/**
 * A month of many requests is dropped while others hold and settle: how long that takes, and who has to wait for it.
 *
 *   npm run bench:retention [-- --rows 10000000]
 */

const ROWS = numberOption('--rows', 10_000_000)
const CALLERS = 8
const BEFORE_MS = 5_000
const SETTINGS = { shared_buffers: '1GB', max_wal_size: '8GB', maintenance_work_mem: '512MB' }

const month = monthsLater(monthOf(Date.now()), -2)
const past: Past = { rows: ROWS, accounts: 1_000, keysPerAccount: 1, models: 20, from: month.from, to: month.to - 1 }

const server = await startPostgres({ fsync: true, settings: SETTINGS })
const url = await server.newDatabase()
await fill(url, past)
const sizes = await sizesOf(url)

const db = new PostgresDatabase({ url, connections: 2 })
let took = 0
let dropped: readonly string[] = []
const before = await whileCalling(() => Bun.sleep(BEFORE_MS))
const during = await whileCalling(async () => {
  const begun = performance.now()
  dropped = await new Partitions(db, { retentionMonths: 1 }).keepUp()
  took = performance.now() - begun
})
await db.close()
await server.stop()

await writeResults('retention', [
  `## A month of ${ROWS.toLocaleString('en')} requests is dropped`,
  '',
  `${machine()}; PostgreSQL with \`fsync\` on, ${SETTINGS.shared_buffers} of shared buffers; \`npm run bench:retention\`. ${sizes}`,
  '',
  `It took ${(took / 1_000).toFixed(1)} s: ${dropped.join(', ')}. Meanwhile ${CALLERS} callers of one replica held and settled:`,
  '',
  '| | pairs/s | p50 ms | p99 ms | slowest ms |',
  '|---|---:|---:|---:|---:|',
  rowOf('before', before),
  rowOf('while it is dropped', during),
])
process.exit(0)

async function whileCalling(work: () => Promise<unknown>): Promise<Counted> {
  const child = new Child({ database: url, durability: 'power', callers: CALLERS, accounts: past.accounts })
  await child.says('warm')
  child.tell('begin')
  await work()
  child.tell('end')
  return child.answer()
}

function rowOf(name: string, { pairs, seconds, p50, p99, max }: Counted): string {
  return `| ${[name, Math.round(pairs / seconds), ...[p50, p99, max].map(ms => ms.toFixed(1))].join(' | ')} |`
}

function numberOption(name: string, fallback: number): number {
  const place = process.argv.indexOf(name)
  return place === -1 ? fallback : Number(process.argv[place + 1])
}
