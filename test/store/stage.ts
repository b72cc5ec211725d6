import { afterAll } from 'bun:test'
import type { Account, NewKey } from '../../src/core/directory.ts'
import type { Closing, HeldCall } from '../../src/core/ledger.ts'
import { dollars, type Nanos, nanos, pricePerMillion } from '../../src/core/money.ts'
import type { PriceVersion } from '../../src/core/price.ts'
import type { Store } from '../../src/core/store.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { STORE } from '../support/databases.ts'
import { newFolder } from '../support/duet.ts'
import { openStoreOf } from '../support/stores.ts'

/** Some time in the past that every test calls now. */
export const NOW = Date.UTC(2026, 5, 15, 12)

/** A store that is empty, and the same one as another process has it; embedded there is no other. */
export interface Stores {
  readonly store: Store
  readonly other: Store
}

/** For a test file: opens what it asks for, and closes all of it at the end. */
export function useStores(): () => Promise<Stores> {
  const stores: Store[] = []
  afterAll(async () => {
    for (const store of stores) await store.close()
  })
  return async () => {
    const folder = newFolder()
    const store = await openStoreOf(folder)
    const other = STORE === 'sqlite' ? store : await openStoreOf(folder)
    stores.push(store, other)
    return { store, other }
  }
}

let made = 0

/** Different for each test and in the order they were made. */
export const newId = (prefix: string): string => `${prefix}_${String(++made).padStart(6, '0')}`

export async function newAccount(store: Store, name = newId('team')): Promise<Account> {
  const account = await store.directory.createAccount({ id: newId('acc'), name, group: 'default', createdAt: NOW })
  if (!account) throw new Error(`there is an account named ${name}`)
  return account
}

export const keyOf = (accountId: string, more: Partial<NewKey> = {}): NewKey => ({
  ...{ id: newId('key'), accountId, name: 'laptop', secretHash: newId('hash'), hint: 'sk-…abcd' },
  ...{ cap: undefined, models: undefined, expiresAt: undefined, createdAt: NOW },
  ...more,
})

export const deposit = (store: Store, accountId: string, amount: Nanos = dollars(100)) =>
  ledgerOf(store).deposit({ kind: 'topup', accountId, amount, source: newId('source'), note: undefined, at: NOW })

const ledgers = new Map<Store, Ledger>()

export function ledgerOf(store: Store): Ledger {
  const ledger = ledgers.get(store) ?? new Ledger(store.ledger, { owner: newId('owner'), clock: () => NOW })
  ledgers.set(store, ledger)
  return ledger
}

export interface Spent {
  readonly accountId: string
  readonly keyId: string
  readonly requestId?: string
  readonly at?: number
  readonly model?: string
  readonly status?: string
  readonly channel?: string
  readonly input?: number
  readonly durationMs?: number
  readonly answer?: Closing['answer']
}

const prices = new Map<Store, Map<string, PriceVersion>>()

/** A token costs a millionth of a dollar. */
async function priceOf(store: Store, model: string): Promise<PriceVersion> {
  const known = prices.get(store) ?? new Map<string, PriceVersion>()
  prices.set(store, known)
  const one = pricePerMillion(1)
  const price = { input: one, output: one, cacheRead: one, cacheWrite: one }
  const found = known.get(model) ?? (await store.prices.publish([{ model, price }], NOW)).get(model)
  if (!found) throw new Error(`there is no price of ${model}`)
  known.set(model, found)
  return found
}

/** A call from its hold to its end; returns its id. */
export async function spend(store: Store, spent: Spent): Promise<string> {
  const { accountId, keyId, requestId = newId('request'), at = NOW, model = 'acme/swift', answer } = spent
  const { status = 'ok', channel = 'main', input = 100, durationMs = 1_000 } = spent
  const price = await priceOf(store, model)
  const call: HeldCall = {
    ...{ model, channel, protocol: 'chat', upstreamProtocol: 'chat', stream: false, priceId: price.id },
  }
  const who = { requestId, accountId, keyId, call }
  await ledgerOf(store).hold({ ...who, most: nanos(5_000_000n), least: nanos(1n), at })
  await ledgerOf(store).settle({
    ...{ ...who, price, status, ending: status === 'ok' ? 'stop' : undefined, source: 'upstream', answer },
    usage: { input, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 },
    ...{ startedAt: at, firstByteMs: 50, durationMs },
  })
  return requestId
}
