import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { GatewayError } from '../../src/core/failure.ts'
import type {
  Closing,
  HeldCall,
  LedgerOperation,
  LedgerOutcome,
  LedgerStore,
  Refusal,
  Settled,
} from '../../src/core/ledger.ts'
import { dollars, nanos, pricePerMillion } from '../../src/core/money.ts'
import type { PriceVersion } from '../../src/core/price.ts'
import { type Store, StoreUnavailable } from '../../src/core/store.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { verify } from '../../src/ledger/verify.ts'
import { newFolder } from '../support/duet.ts'
import { openStoreOf } from '../support/stores.ts'

/** What the ledger does while its store is away, and when it is back. The store behind it is a real one. */

type Absence = 'there' | 'away' | 'away after it has written' | 'away for a moment'

/** A store that can be away: a connection that breaks leaves it open whether something was written. */
class Absent implements LedgerStore {
  state: Absence = 'there'
  /** What it was asked, however it answered. */
  readonly asked: (readonly LedgerOperation['type'][])[] = []
  private readonly inner: LedgerStore

  constructor(inner: LedgerStore) {
    this.inner = inner
  }

  async commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    this.asked.push(batch.map(({ type }) => type))
    if (this.state === 'away for a moment') this.state = 'there'
    else if (this.state !== 'away') return this.write(batch)
    throw new StoreUnavailable('away')
  }

  private async write(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    const outcomes = await this.inner.commit(batch)
    if (this.state === 'there') return outcomes
    this.state = 'away'
    throw new StoreUnavailable('away')
  }
}

const CALL: Omit<HeldCall, 'priceId'> = {
  model: 'acme/chat',
  channel: 'main',
  protocol: 'chat',
  upstreamProtocol: 'chat',
  stream: true,
}
const WHO = { accountId: 'acc', keyId: 'key' }
const AT = 1_790_000_000_000
const HELD = nanos(4_000_000n)
const CHARGE = nanos(400_000n)

let store: Store
let absent: Absent
let ledger: Ledger
let price: PriceVersion
let told: string[]

beforeEach(() => begin({}))
afterEach(async () => {
  const { problem } = await verify(store.audit)
  expect(problem).toBeUndefined()
  await store.close()
})

async function begin({ patienceMs }: { patienceMs?: number }): Promise<void> {
  store = await openStoreOf(newFolder())
  absent = new Absent(store.ledger)
  told = []
  ledger = new Ledger(absent, {
    owner: 'owner',
    clock: () => AT,
    ...(patienceMs === undefined ? {} : { patienceMs }),
    watcher: {
      away: () => told.push('away'),
      back: ({ settlements }) => told.push(`back, ${settlements} waiting`),
    },
  })
  await store.directory.createAccount({ id: 'acc', name: 'acc', group: 'default', createdAt: AT })
  const limits = { cap: undefined, models: undefined, expiresAt: undefined }
  await store.directory.createKey({
    ...{ id: 'key', accountId: 'acc', name: 'key', secretHash: 'hash', hint: '', createdAt: AT },
    ...limits,
  })
  await topUp('first')
  const perMillion = pricePerMillion(1)
  const rates = { input: perMillion, output: pricePerMillion(4), cacheRead: perMillion, cacheWrite: perMillion }
  price = (await store.prices.publish([{ model: CALL.model, price: rates }], AT)).get(CALL.model) as PriceVersion
}

const topUp = (source: string) =>
  ledger.deposit({ kind: 'topup', accountId: 'acc', amount: dollars(10), source, note: undefined, at: AT })

const callOf = (): HeldCall => ({ ...CALL, priceId: price.id })

const hold = (requestId: string) => ledger.hold({ requestId, ...WHO, call: callOf(), most: HELD, least: HELD, at: AT })

const closing = (requestId: string, more: Partial<Closing> = {}): Closing => ({
  ...{ requestId, ...WHO, call: callOf(), price, status: 'ok', ending: 'stop' },
  ...{ usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 100, reasoning: 0 }, source: 'upstream' },
  ...{ startedAt: AT, firstByteMs: 1, durationMs: 2 },
  ...more,
})

const refusal = (requestId: string): Refusal => ({
  ...{ requestId, ...WHO, model: CALL.model, protocol: 'chat', stream: false, startedAt: AT, durationMs: 1 },
  ...{ status: 'ledger_unavailable', error: 'The ledger is not available' },
})

const kindOf = async (work: Promise<unknown>): Promise<string> => {
  const reason = await work.then(
    () => 'it was done',
    (error: unknown) => error,
  )
  return reason instanceof GatewayError ? reason.failure.kind : String(reason)
}

const books = async () => {
  const account = await store.directory.account('acc')
  const { rows } = await store.records.usage({ cursor: undefined, limit: 100 })
  return {
    spent: account?.spent,
    held: account?.held,
    records: rows.map(({ requestId, status }) => `${requestId} ${status}`).sort(),
  }
}

const until = async (isSo: () => boolean) => {
  while (!isSo()) await Bun.sleep(1)
}

const isDone = (work: Promise<unknown>) => Promise.race([work.then(() => true), Bun.sleep(0).then(() => false)])

test('a connection that breaks, and is there again at once, costs nobody a call, and is not told', async () => {
  await hold('a')
  absent.state = 'away for a moment'
  await Promise.all([hold('b'), ledger.settle(closing('a')), topUp('second')])
  await ledger.settle(closing('b'))
  expect([ledger.isAvailable, told]).toEqual([true, []])
  expect(await books()).toMatchObject({ held: nanos(0n), records: ['a ok', 'b ok'] })
})

describe('while the store is away', () => {
  test('holds, extensions, deposits and refusals are refused', async () => {
    await hold('a')
    absent.state = 'away'
    const refused = [
      hold('b'),
      ledger.extend({ requestId: 'a', most: HELD, least: HELD }),
      topUp('second'),
      ledger.refuse(refusal('c')),
    ]
    expect(await Promise.all(refused.map(kindOf))).toEqual(refused.map(() => 'ledger-unavailable'))
    expect([ledger.isAvailable, ledger.holdsOpen]).toEqual([false, 1])
    absent.state = 'there'
    await ledger.settle(closing('a'))
    expect(await books()).toEqual({ spent: CHARGE, held: nanos(0n), records: ['a ok'] })
  })

  test('a batch is not tried operation by operation, and nobody who comes after it asks the store', async () => {
    absent.state = 'away'
    absent.asked.length = 0
    await Promise.all(['a', 'b', 'c'].map(id => kindOf(hold(id))))
    await Promise.all(['d', 'e'].map(id => kindOf(hold(id))))
    const [batch, ...others] = absent.asked
    expect(batch).toEqual(['hold', 'hold', 'hold'])
    expect(new Set(others.flat())).toEqual(new Set(['renew']))
    absent.state = 'there'
    await until(() => ledger.isAvailable)
  })

  test('settlements wait, and are written when it is back: the owner first says that it lives', async () => {
    await Promise.all(['a', 'b', 'c'].map(hold))
    absent.state = 'away'
    const settled = [ledger.settle(closing('a')), ledger.settle(closing('b'))]
    await until(() => !ledger.isAvailable)
    settled.push(ledger.settle(closing('c', { status: 'client_gone' })))
    expect(await Promise.all(settled.map(isDone))).toEqual([false, false, false])
    expect(ledger.settlementsWaiting).toBe(3)

    absent.asked.length = 0
    absent.state = 'there'
    const all: readonly Settled[] = await Promise.all(settled)
    expect(all.map(({ cost }) => cost)).toEqual([CHARGE, CHARGE, CHARGE])
    expect(absent.asked.filter(batch => batch.includes('settle'))).toEqual([['settle', 'settle', 'settle']])
    expect(absent.asked[0]).toEqual(['renew'])
    expect([ledger.isAvailable, ledger.settlementsWaiting]).toEqual([true, 0])
    expect(told).toEqual(['away', 'back, 3 waiting'])
    expect((await books()).records).toEqual(['a ok', 'b ok', 'c client_gone'])
  })

  test('a settlement that was written, and not heard of, is charged once', async () => {
    await hold('a')
    absent.state = 'away after it has written'
    const settled = ledger.settle(closing('a'))
    await until(() => !ledger.isAvailable)
    absent.state = 'there'
    expect((await settled).cost).toBe(CHARGE)
    expect(await books()).toEqual({ spent: CHARGE, held: nanos(0n), records: ['a ok'] })
  })

  test('a hold that was taken, and not heard of, is refused, and given back by the next look', async () => {
    absent.state = 'away after it has written'
    expect(await kindOf(hold('a'))).toBe('ledger-unavailable')
    expect((await books()).held).toBe(HELD)
    absent.state = 'there'
    await until(() => ledger.isAvailable)
    expect(await ledger.tend()).toEqual({ recovered: 1, overdue: 0 })
    expect(await books()).toEqual({ spent: nanos(0n), held: nanos(0n), records: ['a interrupted'] })
  })

  test('a settlement that waits keeps its hold from being given back', async () => {
    await hold('a')
    absent.state = 'away'
    const settled = ledger.settle(closing('a'))
    await until(() => !ledger.isAvailable)
    absent.state = 'there'
    await until(() => ledger.isAvailable)
    expect((await ledger.tend()).recovered).toBe(0)
    await settled
    expect((await books()).records).toEqual(['a ok'])
  })

  test('a look after it asks nothing, and says what waits', async () => {
    await hold('a')
    absent.state = 'away'
    ledger.settleLater(closing('a'))
    await kindOf(hold('b'))
    expect(await ledger.tend()).toEqual({ recovered: 0, overdue: 1 })
    absent.state = 'there'
    await until(() => ledger.settlementsWaiting === 0 && ledger.holdsOpen === 0)
    expect((await books()).records).toEqual(['a ok'])
  })

  test('calls are admitted again by themselves', async () => {
    absent.state = 'away'
    await kindOf(hold('a'))
    absent.state = 'there'
    await until(() => ledger.isAvailable)
    await hold('b')
    await ledger.settle(closing('b'))
    expect((await books()).records).toEqual(['b ok'])
  })
})

describe('whoever waits for a settlement', () => {
  beforeEach(async () => {
    await store.close()
    await begin({ patienceMs: 50 })
  })

  test('is told after a while, and what was used is charged all the same when the store is back', async () => {
    await hold('a')
    absent.state = 'away'
    expect(await kindOf(ledger.settle(closing('a')))).toBe('ledger-unavailable')
    ledger.settleLater(closing('a', { status: 'ledger_unavailable' }))
    expect([ledger.settlementsWaiting, ledger.holdsOpen]).toEqual([1, 1])
    absent.state = 'there'
    await until(() => ledger.holdsOpen === 0)
    expect(await books()).toEqual({ spent: CHARGE, held: nanos(0n), records: ['a ledger_unavailable'] })
  })
})

describe('a stop', () => {
  test('waits for the store as long as it may, and says how much could not be written', async () => {
    await Promise.all(['a', 'b'].map(hold))
    absent.state = 'away'
    const settled = ledger.settle(closing('a'))
    await until(() => !ledger.isAvailable)
    ledger.settleLater(closing('b'))
    expect(await ledger.drain(AbortSignal.timeout(100))).toBe(2)
    const drained = ledger.drain(AbortSignal.timeout(60_000))
    absent.state = 'there'
    expect(await drained).toBe(0)
    await settled
    expect((await books()).records).toEqual(['a ok', 'b ok'])
  })
})
