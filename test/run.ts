import { join } from 'node:path'
import { startPostgres } from './support/postgres.ts'

/**
 * Runs the tests on both stores: `bun test/run.ts`, with `postgres` only what takes long on that one. Arguments beyond
 * that are for `bun test`, in place of the folders below. All files share one PostgreSQL server, which is started here
 * and ends with this process.
 */

const ROOT = join(import.meta.dir, '..')

/** Longer than any test takes on a busy machine; one that waits for ever is ended by it. */
const TEST_MS_MAX = 40_000

/** Most files start servers, and more of them than cores only wait for each other. */
const FILES_AT_ONCE = 2

interface Part {
  readonly store: 'sqlite' | 'postgres'
  readonly tests: readonly string[]
}

/** There is nothing of the embedded store in these. */
const POSTGRES_ALONE = [
  ...['test/cluster', 'test/postgres', 'test/replicas', 'test/faults/outage.test.ts'],
  ...['test/operator/workers.test.ts', 'test/operator/shared-start.test.ts'],
]

const ALL: readonly Part[] = [
  { store: 'sqlite', tests: ['test', ...POSTGRES_ALONE.map(path => `--path-ignore-patterns=${within(path)}`)] },
  { store: 'postgres', tests: ['test/store', 'test/ledger', 'test/wire'] },
]

/** Together they take as long as all of the above. */
const MORE_ON_POSTGRES: readonly Part[] = [
  {
    store: 'postgres',
    tests: ['test/console', 'test/operator', 'test/faults', 'test/hostile/repeats', ...POSTGRES_ALONE.slice(0, 3)],
  },
]

const given = process.argv.slice(2)
const parts = given[0] === 'postgres' ? MORE_ON_POSTGRES : ALL
const inPlace = parts === ALL ? given : given.slice(1)

const postgres = await startPostgres()
let running: Bun.Subprocess | undefined
process.on('SIGTERM', () => {
  running?.kill('SIGTERM')
  process.exit(1)
})

let failed = false
for (const { store, tests } of parts) {
  console.log(`\nTests on ${store === 'sqlite' ? 'the embedded store' : 'PostgreSQL'}\n`)
  const options = [`--parallel=${FILES_AT_ONCE}`, `--timeout=${TEST_MS_MAX}`]
  running = Bun.spawn([process.execPath, 'test', ...options, ...(inPlace.length > 0 ? inPlace : tests)], {
    cwd: ROOT,
    env: { ...process.env, DUET_TEST_STORE: store, DUET_TEST_POSTGRES: postgres.url },
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  if ((await running.exited) !== 0) failed = true
}
await postgres.stop()
process.exit(failed ? 1 : 0)

function within(path: string): string {
  return path.endsWith('.ts') ? path : `${path}/**`
}
