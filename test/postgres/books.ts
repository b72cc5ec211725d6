import { afterAll, afterEach } from 'bun:test'
import type { Closing, Deposit, HeldCall, HoldRequest, LedgerOperation, Refusal } from '../../src/core/ledger.ts'
import { type NanosPerMillion, nanos } from '../../src/core/money.ts'
import type { PriceVersion } from '../../src/core/price.ts'
import type { Store } from '../../src/core/store.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { type Verification, verify } from '../../src/ledger/verify.ts'
import { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { openPostgres, type PostgresStoreOptions } from '../../src/store/postgres/open.ts'
import { newDatabase } from '../support/databases.ts'

/** A nano-dollar for a token of input: a usage of so many tokens costs so much. */
const perMillion = (amount: bigint): NanosPerMillion => amount as NanosPerMillion
const PRICE = {
  input: perMillion(1_000_000n),
  output: perMillion(0n),
  cacheRead: perMillion(0n),
  cacheWrite: perMillion(0n),
}

export const AT = Date.UTC(2026, 10, 16, 12)

export interface BooksOptions {
  readonly accounts: readonly string[]
  /** For each account. */
  readonly keys: number
  readonly cap?: bigint
  readonly balance: bigint
  readonly at?: number
}

const opened: { close(): Promise<void> }[] = []
/** To be called by every file: a server has room for so many connections, and each of these has a dozen. */
export const closeAfterEach = (): void => afterEach(closeAll)
/** The same, for a file whose tests share what was opened. */
export const closeAfterAll = (): void => afterAll(closeAll)

async function closeAll(): Promise<void> {
  await Promise.all(opened.splice(0).map(one => one.close()))
}

export async function openAt(url: string, options: Partial<PostgresStoreOptions> = {}): Promise<Store> {
  const store = await openPostgres({ url, ...options })
  opened.push(store)
  return store
}

/** Tables, for what a store has no words for. */
export function tablesAt(url: string): PostgresDatabase {
  const db = new PostgresDatabase({ url, connections: 2 })
  opened.push(db)
  return db
}

export class Books {
  readonly url: string
  readonly store: Store
  readonly tables: PostgresDatabase
  readonly price: PriceVersion

  private constructor(url: string, store: Store, price: PriceVersion) {
    this.url = url
    this.store = store
    this.tables = tablesAt(url)
    this.price = price
  }

  static async open(
    { accounts, keys, cap, balance, at = AT }: BooksOptions,
    options?: Partial<PostgresStoreOptions>,
  ): Promise<Books> {
    const url = await newDatabase()
    const store = await openAt(url, options)
    for (const id of accounts) {
      await store.directory.createAccount({ id, name: id, group: 'default', createdAt: at })
      for (let place = 1; place <= keys; place++) {
        const own = { id: `${id}-${place}`, accountId: id, name: 'key', secretHash: `hash of ${id}-${place}`, hint: '' }
        const limit = { cap: cap === undefined ? undefined : nanos(cap), models: undefined, expiresAt: undefined }
        await store.directory.createKey({ ...own, ...limit, createdAt: at })
      }
    }
    const price = (await store.prices.publish([{ model: 'acme/swift', price: PRICE }], at)).get('acme/swift')
    if (!price) throw new Error('there is no price')
    const books = new Books(url, store, price)
    await store.ledger.commit(accounts.map(id => books.deposit(id, balance, { source: 'beginning', at })))
    return books
  }

  verify(): Promise<Verification> {
    return verify(this.store.audit)
  }

  // ── operations ────────────────────────────────────────────────────────────────────────────────────────────────────

  get call(): HeldCall {
    const protocols = { protocol: 'chat', upstreamProtocol: 'chat' } as const
    return { model: 'acme/swift', channel: 'main', ...protocols, stream: false, priceId: this.price.id }
  }

  hold(requestId: string, keyId: string, { most, least = most, owner = 'one', at = AT }: HoldWish): LedgerOperation {
    const who = { requestId, accountId: accountOf(keyId), keyId }
    const request: HoldRequest = { ...who, call: this.call, most: nanos(most), least: nanos(least), at }
    return { type: 'hold', request, lease: { owner, expiresAt: at + 15_000 } }
  }

  extend(requestId: string, most: bigint, least = most): LedgerOperation {
    return { type: 'extend', extension: { requestId, most: nanos(most), least: nanos(least) }, expiresAt: AT + 15_000 }
  }

  settle(requestId: string, keyId: string, cost: bigint, more: Partial<Closing> = {}): LedgerOperation {
    const closing: Closing = {
      ...{ requestId, accountId: accountOf(keyId), keyId, call: this.call, price: this.price, status: 'ok' },
      ...{ ending: 'stop', usage: { ...NO_USAGE, input: Number(cost) }, source: 'upstream' },
      ...{ startedAt: AT, firstByteMs: 5, durationMs: 10, ...more },
    }
    return { type: 'settle', closing }
  }

  refuse(requestId: string, keyId: string, more: Partial<Refusal> = {}): LedgerOperation {
    const refusal: Refusal = {
      ...{ requestId, accountId: accountOf(keyId), keyId, model: 'acme/swift', protocol: 'chat', stream: false },
      ...{ status: 'insufficient_user_quota', error: 'no', startedAt: AT, durationMs: 0, ...more },
    }
    return { type: 'refuse', refusal }
  }

  deposit(accountId: string, amount: bigint, more: Partial<Deposit> = {}): LedgerOperation {
    const deposit = { kind: 'topup', accountId, amount: nanos(amount), source: 's', note: undefined, at: AT } as const
    return { type: 'deposit', deposit: { ...deposit, ...more } }
  }
}

interface HoldWish {
  readonly most: bigint
  readonly least?: bigint
  readonly owner?: string
  readonly at?: number
}

const accountOf = (keyId: string): string => keyId.slice(0, keyId.lastIndexOf('-'))

/** Statements that waited for each other in a circle, as the server has counted them for this database. */
export async function deadlocks(db: PostgresDatabase): Promise<bigint> {
  const row = await db.get<{ n: bigint }>(
    'SELECT pg_stat_get_db_deadlocks(oid) AS n FROM pg_database WHERE datname = current_database()',
  )
  return row?.n ?? 0n
}
