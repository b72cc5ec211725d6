import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newHex, newRequestId } from '../src/core/ids.ts'
import type { HeldCall } from '../src/core/ledger.ts'
import { dollars, nanos, pricePerMillion } from '../src/core/money.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import type { DatabaseOptions } from '../src/store/database.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import { bareWriter } from './bare-writer.ts'
import { machine, median, writeResults } from './results.ts'

/**
 * Hold and settle, as the gateway does it: one account, one key, everything durable before it is answered. Each figure is
 * the median of several rounds, on a database that is new in each; contestants take turns. The ratio is to a program that
 * writes the same rows in batches of the same size with bare statements: no rules, no chain, nobody waiting for an answer.
 *
 *   npm run bench:ledger [-- --rounds 5 --pairs 60000]
 */

const CONCURRENCIES = [1, 10, 100, 1_000]
const DURABILITIES = ['process', 'power'] as const
const ROUNDS = numberOption('--rounds', 5)
const PAIRS = numberOption('--pairs', 60_000)
/** With nobody to share a commit with, a pair takes five times as long; the round need not. */
const PAIRS_ALONE = Math.ceil(PAIRS / 5)

const CALL: Omit<HeldCall, 'priceId'> = {
  model: 'acme/swift-2',
  channel: 'acme-main',
  protocol: 'chat',
  upstreamProtocol: 'messages',
  stream: true,
}
const USAGE = { input: 1_000, cacheRead: 200, cacheWrite: 0, output: 300, reasoning: 100 }
const PRICE = {
  input: pricePerMillion(0.25),
  output: pricePerMillion(2),
  cacheRead: pricePerMillion(0.025),
  cacheWrite: pricePerMillion(0.3125),
}

interface Contest {
  readonly durability: DatabaseOptions['durability']
  readonly concurrency: number
  readonly ledger: number[]
  readonly bare: number[]
}

const contests: Contest[] = DURABILITIES.flatMap(durability =>
  CONCURRENCIES.map(concurrency => ({ durability, concurrency, ledger: [], bare: [] })),
)

for (let round = 1; round <= ROUNDS; round++) {
  for (const { durability, concurrency, ledger, bare } of contests) {
    const pairs = concurrency === 1 ? PAIRS_ALONE : PAIRS
    ledger.push(await inNewFolder(path => holdAndSettle({ path, durability }, { concurrency, pairs })))
    bare.push(await inNewFolder(async path => bareWriter({ path, durability }, { batch: concurrency, pairs })))
    process.stderr.write(`round ${round} of ${ROUNDS}: ${durability}, ${concurrency} at once: ${rate(ledger.at(-1))}\n`)
  }
}

const rows = contests.map(({ durability, concurrency, ledger, bare }) => {
  const [ours, limit] = [median(ledger), median(bare)]
  const spread = `${rate(Math.min(...ledger))} to ${rate(Math.max(...ledger))}`
  return `| ${durability} | ${concurrency} | ${rate(ours)} | ${(1e6 / ours).toFixed(1)} | ${spread} | ${rate(limit)} | ${(ours / limit).toFixed(2)} |`
})

await writeResults('ledger', [
  '## Ledger: hold + settle',
  '',
  `${machine()}. Medians of ${ROUNDS} rounds of ${PAIRS} pairs (${PAIRS_ALONE} at concurrency 1); \`npm run bench:ledger\`.`,
  '',
  '| durability | at once | pairs/s | µs a pair | lowest to highest | bare statements, pairs/s | ratio |',
  '|---|---:|---:|---:|---:|---:|---:|',
  ...rows,
])

interface Load {
  readonly concurrency: number
  readonly pairs: number
}

/** Pairs a second. */
async function holdAndSettle(options: DatabaseOptions, { concurrency, pairs }: Load): Promise<number> {
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
  const [most, least] = [nanos(9_000_000n), nanos(1_000_000n)]
  const pair = async () => {
    const at = clock()
    const requestId = newRequestId(at)
    await ledger.hold({ requestId, accountId, keyId, call, most, least, at })
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
  const begun = performance.now()
  await Promise.all(Array.from({ length: concurrency }, caller))
  const seconds = (performance.now() - begun) / 1000
  store.close()
  return pairs / seconds
}

async function inNewFolder(run: (path: string) => Promise<number>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'duet-bench-'))
  try {
    return await run(join(folder, 'duet.db'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function rate(pairsPerSecond = 0): string {
  return Math.round(pairsPerSecond).toLocaleString('en')
}

function numberOption(name: string, fallback: number): number {
  const place = process.argv.indexOf(name)
  return place === -1 ? fallback : Number(process.argv[place + 1])
}
