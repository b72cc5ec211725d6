import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { newHex, newRequestId } from '../src/core/ids.ts'
import { dollars } from '../src/core/money.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import type { DatabaseOptions } from '../src/store/sqlite/database.ts'
import { openSqlite } from '../src/store/sqlite/open.ts'
import { bareWriter } from './bare-writer.ts'
import { type Measured, startMeasuring } from './measured.ts'
import { CALL, HELD, PRICE, USAGE } from './pair.ts'
import { machine, median, writeResults } from './results.ts'

/**
 * Hold and settle, as the gateway does it: one account, one key, everything durable before it is answered. Each figure is
 * the median of several rounds, on a database that is new in each; contestants take turns. The ratio is to a program that
 * writes the same rows to the tables in batches of the same size with bare statements: no rules, no chain, no journal,
 * nobody waiting for an answer. With `--before`, the ledger of another checkout takes part.
 *
 *   npm run bench:ledger [-- --rounds 5 --pairs 60000 --before ../duet-before]
 */

const CONCURRENCIES = [1, 10, 32, 64, 1_000]
const DURABILITIES = ['process', 'power'] as const
const ROUNDS = numberOption('--rounds', 5)
const PAIRS = numberOption('--pairs', 60_000)
/** With nobody to share a commit with, a pair takes five times as long; the round need not. */
const PAIRS_ALONE = Math.ceil(PAIRS / 5)
const BEFORE = textOption('--before')

type Modules = Pick<typeof import('../src/ledger/ledger.ts'), 'Ledger'> &
  Pick<typeof import('../src/store/sqlite/open.ts'), 'openSqlite'>

interface Contest {
  readonly durability: DatabaseOptions['durability']
  readonly concurrency: number
  readonly ledger: Measured[]
  readonly before: Measured[]
  readonly bare: Measured[]
}

const contests: Contest[] = DURABILITIES.flatMap(durability =>
  CONCURRENCIES.map(concurrency => ({ durability, concurrency, ledger: [], before: [], bare: [] })),
)
const former = BEFORE === undefined ? undefined : await modulesOf(BEFORE)

for (let round = 1; round <= ROUNDS; round++) {
  for (const { durability, concurrency, ledger, before, bare } of contests) {
    const pairs = concurrency === 1 ? PAIRS_ALONE : PAIRS
    const run = (modules: Modules) =>
      inNewFolder(path => holdAndSettle(modules, { path, durability }, { concurrency, pairs }))
    ledger.push(await run({ Ledger, openSqlite }))
    if (former) before.push(await run(former))
    bare.push(await inNewFolder(async path => bareWriter({ path, durability }, { batch: concurrency, pairs })))
    const cpu = ledger.at(-1)?.cpuPerPair.toFixed(1)
    process.stderr.write(`round ${round} of ${ROUNDS}: ${durability}, ${concurrency} at once: ${cpu} µs\n`)
  }
}

const rows = contests.map(({ durability, concurrency, ledger, before, bare }) => {
  const cpu = ledger.map(({ cpuPerPair }) => cpuPerPair)
  const [ours, limit] = [median(cpu), median(bare.map(({ cpuPerPair }) => cpuPerPair))]
  const spread = `${Math.min(...cpu).toFixed(1)} to ${Math.max(...cpu).toFixed(1)}`
  const was = median(before.map(({ cpuPerPair }) => cpuPerPair))
  return [
    ...['', durability, concurrency, ours.toFixed(1), spread, rate(median(ledger.map(({ perSecond }) => perSecond)))],
    ...[limit.toFixed(1), (ours / limit).toFixed(2)],
    ...(former ? [was.toFixed(1), (ours / was).toFixed(2)] : []),
    '',
  ].join(' | ')
})

const beforeColumns = former ? ['before, µs | ratio |', '---:|---:|'] : ['', '']
await writeResults('ledger', [
  '## Ledger: hold + settle',
  '',
  `${machine()}. Medians of ${ROUNDS} rounds of ${PAIRS} pairs (${PAIRS_ALONE} at concurrency 1), with the usage record; CPU time of`,
  'all threads, from the first pair on (the compiler is part of it); `npm run bench:ledger`.',
  '',
  `| durability | at once | CPU, µs a pair | lowest to highest | pairs/s | bare statements, µs | ratio | ${beforeColumns[0]}`,
  `|---|---:|---:|---:|---:|---:|---:|${beforeColumns[1]}`,
  ...rows.map(row => row.trim()),
])

interface Load {
  readonly concurrency: number
  readonly pairs: number
}

async function holdAndSettle(
  { Ledger, openSqlite }: Modules,
  options: DatabaseOptions,
  { concurrency, pairs }: Load,
): Promise<Measured> {
  const store = openSqlite(options)
  const clock = Date.now
  const ledger = new Ledger(store.ledger, { owner: newHex(8), clock })
  const [accountId, keyId] = [`acc_${newHex(10)}`, `key_${newHex(10)}`]
  await store.directory.createAccount({ id: accountId, name: 'bench', group: 'default', createdAt: clock() })
  const unlimited = { cap: undefined, models: undefined, expiresAt: undefined, createdAt: clock() }
  await store.directory.createKey({ id: keyId, accountId, name: 'bench', secretHash: 'x', hint: 'x', ...unlimited })
  const deposit = { kind: 'topup', accountId, source: 'bench', note: undefined, at: clock() } as const
  await ledger.deposit({ ...deposit, amount: dollars(1_000_000) })
  const price = (await store.prices.publish([{ model: CALL.model, price: PRICE }], clock())).get(CALL.model)
  if (!price) throw new Error('no price')

  const call = { ...CALL, priceId: price.id }
  const pair = async () => {
    const at = clock()
    const requestId = newRequestId(at)
    await ledger.hold({ requestId, accountId, keyId, call, ...HELD, at })
    // biome-ignore format: one line, one closing
    await ledger.settle({
      requestId, accountId, keyId, call, price, startedAt: at, usage: USAGE, source: 'upstream',
      status: 'ok', ending: 'stop', firstByteMs: 10, durationMs: 20,
    })
  }
  let left = pairs
  const caller = async () => {
    while (left-- > 0) await pair()
  }
  const measured = startMeasuring()
  await Promise.all(Array.from({ length: concurrency }, caller))
  const result = measured(pairs)
  store.close()
  return result
}

/** The ledger of another checkout; its types are taken to be ours. */
async function modulesOf(folder: string): Promise<Modules> {
  const [{ Ledger }, { openSqlite }] = await Promise.all([
    import(resolve(folder, 'src/ledger/ledger.ts')),
    import(resolve(folder, 'src/store/sqlite/open.ts')),
  ])
  return { Ledger, openSqlite }
}

async function inNewFolder(run: (path: string) => Promise<Measured>): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'duet-bench-'))
  try {
    return await run(join(folder, 'duet.db'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function rate(pairsPerSecond: number): string {
  return Math.round(pairsPerSecond).toLocaleString('en')
}

function numberOption(name: string, fallback: number): number {
  return Number(textOption(name) ?? fallback)
}

function textOption(name: string): string | undefined {
  const place = process.argv.indexOf(name)
  return place === -1 ? undefined : process.argv[place + 1]
}
