import { newHex, newRequestId } from '../../src/core/ids.ts'
import type { LedgerStore } from '../../src/core/ledger.ts'
import { percentile } from '../../src/core/percentile.ts'
import type { PriceVersion } from '../../src/core/price.ts'
import type { Store } from '../../src/core/store.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { CALL, HELD, USAGE } from '../pair.ts'
import { accountName, keyName } from './books.ts'

/**
 * One process with a ledger, and callers who hold and settle again and again. It says `warm` when it is, begins to count
 * when it is told to, and says what it has counted when it is told to end.
 */

export interface CallersOptions {
  /** `postgres://...`, or the file of an embedded database. */
  readonly database: string
  readonly durability: 'process' | 'power'
  readonly callers: number
  readonly accounts: number
}

export interface Counted {
  readonly pairs: number
  /** Since the start of the process, for what the database counts for as long. */
  readonly pairsInAll: number
  readonly seconds: number
  readonly cpuMicroseconds: number
  readonly batches: number
  readonly operations: number
  /** Different accounts, added up over all batches. */
  readonly accounts: number
  /** Of hold and settlement together, in milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly max: number
}

const WARM_UP_MS = 1_500

/** Passes batches on, and counts them. */
class CountedStore implements LedgerStore {
  readonly counts = { batches: 0, operations: 0, accounts: 0 }
  private readonly store: LedgerStore

  constructor(store: LedgerStore) {
    this.store = store
  }

  commit(batch: Parameters<LedgerStore['commit']>[0]): ReturnType<LedgerStore['commit']> {
    this.counts.batches++
    this.counts.operations += batch.length
    this.counts.accounts += new Set(batch.map(accountOf)).size
    return this.store.commit(batch)
  }
}

function accountOf(operation: Parameters<LedgerStore['commit']>[0][number]): string {
  if (operation.type === 'hold') return operation.request.accountId
  return operation.type === 'settle' ? operation.closing.accountId : ''
}

class Callers {
  private readonly store: CountedStore
  private readonly ledger: Ledger
  private readonly price: PriceVersion
  private readonly accounts: number
  private isOver = false
  private pairs = 0
  private times: number[] = []
  private since = { at: 0, cpu: process.cpuUsage(), pairs: 0, batches: 0, operations: 0, accounts: 0 }

  constructor(store: Store, price: PriceVersion, accounts: number) {
    this.store = new CountedStore(store.ledger)
    this.ledger = new Ledger(this.store, { owner: newHex(8), clock: Date.now })
    this.price = price
    this.accounts = accounts
  }

  async call(): Promise<void> {
    const call = { ...CALL, priceId: this.price.id }
    while (!this.isOver) {
      const number = Math.floor(Math.random() * this.accounts)
      const who = { accountId: accountName(number), keyId: keyName(number), call }
      const [at, begun] = [Date.now(), performance.now()]
      const requestId = newRequestId(at)
      await this.ledger.hold({ ...who, requestId, ...HELD, at })
      const closing = { ...who, requestId, price: this.price, startedAt: at, usage: USAGE, source: 'upstream' as const }
      await this.ledger.settle({ ...closing, status: 'ok', ending: 'stop', firstByteMs: 10, durationMs: 20 })
      this.times.push(performance.now() - begun)
      this.pairs++
    }
  }

  begin(): void {
    this.times = []
    this.since = { at: performance.now(), cpu: process.cpuUsage(), pairs: this.pairs, ...this.store.counts }
  }

  count(): Omit<Counted, 'pairsInAll'> {
    const { at, cpu, ...before } = this.since
    const { user, system } = process.cpuUsage(cpu)
    const { batches, operations, accounts } = this.store.counts
    return {
      pairs: this.pairs - before.pairs,
      seconds: (performance.now() - at) / 1_000,
      cpuMicroseconds: user + system,
      batches: batches - before.batches,
      operations: operations - before.operations,
      accounts: accounts - before.accounts,
      p50: percentile(this.times, 50) ?? Number.NaN,
      p99: percentile(this.times, 99) ?? Number.NaN,
      max: percentile(this.times, 100) ?? Number.NaN,
    }
  }

  /** Nobody asks again; those under way end. */
  async end(calls: readonly Promise<void>[]): Promise<number> {
    this.isOver = true
    await Promise.all(calls)
    return this.pairs
  }
}

async function open({ database, durability }: CallersOptions): Promise<Store> {
  if (database.startsWith('postgres://')) return openPostgres({ url: database })
  return openSqlite({ path: database, durability })
}

if (import.meta.main) {
  const options = JSON.parse(process.argv[2] ?? '{}') as CallersOptions
  const store = await open(options)
  const [price] = await store.prices.history(CALL.model, 1)
  if (!price) throw new Error('there is no price')
  const callers = new Callers(store, price, options.accounts)
  const calls = Array.from({ length: options.callers }, () => callers.call())
  await Bun.sleep(WARM_UP_MS)
  process.stdout.write('warm\n')
  for await (const line of console) {
    if (line === 'begin') callers.begin()
    if (line !== 'end') continue
    const counted = callers.count()
    const pairsInAll = await callers.end(calls)
    await store.close()
    process.stdout.write(`${JSON.stringify({ ...counted, pairsInAll } satisfies Counted)}\n`)
    process.exit(0)
  }
}
