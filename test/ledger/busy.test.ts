import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { GatewayError } from '../../src/core/failure.ts'
import type { Closing, HeldCall, LedgerOperation, LedgerOutcome, LedgerStore } from '../../src/core/ledger.ts'
import { dollars, nanos, pricePerMillion } from '../../src/core/money.ts'
import type { PriceVersion } from '../../src/core/price.ts'
import { type Store, StoreBusy } from '../../src/core/store.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { verify } from '../../src/ledger/verify.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { newFolder } from '../support/duet.ts'

/** What the ledger does while its store is there, and cannot do everything. The store behind it is a real one. */

const AT = 1_790_000_000_000
const HELD = nanos(4_000_000n)

/** A store that gives up on what it is told to. */
class BusyStore implements LedgerStore {
  lockedAccount: string | undefined
  /** More than so many operations take too long. */
  operationsMax = Number.POSITIVE_INFINITY
  slowRequest: string | undefined
  readonly asked: (readonly LedgerOperation[])[] = []
  private readonly inner: LedgerStore

  constructor(inner: LedgerStore) {
    this.inner = inner
  }

  async commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    this.asked.push(batch)
    const { lockedAccount, slowRequest, operationsMax } = this
    const text = JSON.stringify(batch, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    if (lockedAccount !== undefined && batch.some(operation => accountOf(operation) === lockedAccount)) {
      // As long as a store waits for a lock: others are asked for meanwhile.
      await Bun.sleep(20)
      throw new StoreBusy('locked', { accountIds: [lockedAccount] })
    }
    if (batch.length > operationsMax || (slowRequest !== undefined && text.includes(`"${slowRequest}"`))) {
      throw new StoreBusy('too slow')
    }
    return this.inner.commit(batch)
  }
}

function accountOf(operation: LedgerOperation): string | undefined {
  switch (operation.type) {
    case 'hold':
      return operation.request.accountId
    case 'extend':
      return operation.extension.requestId.slice(0, 3)
    case 'settle':
      return operation.closing.accountId
    default:
      return undefined
  }
}

let store: Store
let busy: BusyStore
let ledger: Ledger
let price: PriceVersion
let told: string[]

beforeEach(() => begin())
afterEach(async () => {
  expect((await verify(store.audit)).problem).toBeUndefined()
  await store.close()
})

async function begin(patienceMs = 30_000): Promise<void> {
  store = openSqlite({ path: join(newFolder(), 'duet.db'), durability: 'process' })
  busy = new BusyStore(store.ledger)
  told = []
  const watcher = { away: () => told.push('away'), back: () => told.push('back') }
  ledger = new Ledger(busy, { owner: 'owner', clock: () => AT, patienceMs, watcher })
  const limits = { cap: undefined, models: undefined, expiresAt: undefined }
  for (const id of ['ann', 'ben']) {
    await store.directory.createAccount({ id, name: id, group: 'default', createdAt: AT })
    const key = { id: `${id}-key`, accountId: id, name: 'key', secretHash: `hash of ${id}`, hint: '', createdAt: AT }
    await store.directory.createKey({ ...key, ...limits })
    await ledger.deposit({ kind: 'topup', accountId: id, amount: dollars(10), source: 's', note: undefined, at: AT })
  }
  const perMillion = pricePerMillion(1)
  const rates = { input: perMillion, output: perMillion, cacheRead: perMillion, cacheWrite: perMillion }
  price = (await store.prices.publish([{ model: 'acme/chat', price: rates }], AT)).get('acme/chat') as PriceVersion
}

const callOf = (): HeldCall => ({
  ...{ model: 'acme/chat', channel: 'main', protocol: 'chat', upstreamProtocol: 'chat', stream: true },
  priceId: price.id,
})

/** Requests are called after their accounts. */
const whoOf = (requestId: string) => {
  const accountId = requestId.slice(0, 3)
  return { requestId, accountId, keyId: `${accountId}-key`, call: callOf() }
}

const hold = (requestId: string) => ledger.hold({ ...whoOf(requestId), most: HELD, least: HELD, at: AT })

const extend = (requestId: string) => ledger.extend({ requestId, most: HELD, least: HELD })

const settle = (requestId: string) => {
  const closing: Closing = {
    ...{ ...whoOf(requestId), price, status: 'ok', ending: 'stop', source: 'upstream' },
    ...{ usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 100, reasoning: 0 } },
    ...{ startedAt: AT, firstByteMs: 1, durationMs: 2 },
  }
  return ledger.settle(closing)
}

const kindOf = async (work: Promise<unknown>): Promise<string> => {
  const reason = await work.then(
    () => 'it was done',
    (error: unknown) => error,
  )
  return reason instanceof GatewayError ? reason.failure.kind : String(reason)
}

const recorded = async () =>
  (await store.records.usage({ cursor: undefined, limit: 100 })).rows.map(({ requestId }) => requestId).sort()

describe('while an account is locked', () => {
  beforeEach(async () => {
    await Promise.all(['ann 1', 'ann 2', 'ben 1'].map(hold))
    busy.lockedAccount = 'ann'
  })

  test('what comes with it is done, and what asks for it is refused', async () => {
    const [more, extension, other] = [kindOf(hold('ann 3')), kindOf(extend('ann 1')), kindOf(hold('ben 2'))]
    expect(await Promise.all([more, extension, other])).toEqual([
      'ledger-unavailable',
      'ledger-unavailable',
      'it was done',
    ])
    expect([ledger.isAvailable, ledger.holdsOpen, told]).toEqual([true, 4, []])
    busy.lockedAccount = undefined
    await Promise.all(['ann 1', 'ann 2', 'ben 1', 'ben 2'].map(settle))
  })

  test('nobody else is asked for together with it again, until it is free', async () => {
    await kindOf(hold('ann 3'))
    busy.asked.length = 0
    const late = kindOf(hold('ann 4'))
    for (let round = 0; round < 3; round++) await Promise.all([kindOf(extend('ben 1')), kindOf(extend('ben 1'))])
    expect(await late).toBe('ledger-unavailable')
    expect(busy.asked.filter(batch => new Set(batch.map(accountOf)).size > 1)).toEqual([])
    busy.lockedAccount = undefined
    await hold('ann 5')
    await Promise.all(['ann 1', 'ann 2', 'ann 5', 'ben 1'].map(settle))
  })

  test('its settlements wait for it, and are written once', async () => {
    const settled = [settle('ann 1'), settle('ann 2')]
    await settle('ben 1')
    expect(await recorded()).toEqual(['ben 1'])
    expect(ledger.settlementsWaiting).toBe(2)
    busy.lockedAccount = undefined
    for (const { cost } of await Promise.all(settled)) expect(cost).toBe(nanos(100_000n))
    expect(await recorded()).toEqual(['ann 1', 'ann 2', 'ben 1'])
    expect([ledger.settlementsWaiting, ledger.holdsOpen, told]).toEqual([0, 0, []])
  })

  test('a stop waits for its settlements as long as it may', async () => {
    await settle('ben 1')
    const settled = settle('ann 1')
    expect(await ledger.drain(AbortSignal.timeout(100))).toBe(1)
    const drained = ledger.drain(AbortSignal.timeout(60_000))
    busy.lockedAccount = undefined
    expect(await drained).toBe(0)
    await settled
    await settle('ann 2')
  })
})

test('whoever waits for the settlement of an account that stays locked is told after a while', async () => {
  await store.close()
  await begin(50)
  await hold('ann 1')
  busy.lockedAccount = 'ann'
  expect(await kindOf(settle('ann 1'))).toBe('ledger-unavailable')
  busy.lockedAccount = undefined
  await settle('ann 1')
})

describe('what takes the store too long', () => {
  test('is tried in smaller pieces', async () => {
    busy.operationsMax = 10
    const ids = Array.from({ length: 50 }, (_, place) => `${place % 2 ? 'ann' : 'ben'} ${place}`)
    await Promise.all(ids.map(hold))
    await Promise.all(ids.map(settle))
    expect(await recorded()).toEqual(ids.toSorted())
    expect([ledger.holdsOpen, told]).toEqual([0, []])
  })

  test('by itself waits apart, and keeps nobody from being served', async () => {
    await Promise.all(['ann 1', 'ann 2', 'ben 1'].map(hold))
    busy.slowRequest = 'ann 1'
    const slow = settle('ann 1')
    await settle('ben 1')
    expect(await kindOf(hold('ben 2'))).toBe('it was done')
    await settle('ben 2')
    busy.slowRequest = undefined
    await slow
    await settle('ann 2')
    expect([await recorded(), told]).toEqual([['ann 1', 'ann 2', 'ben 1', 'ben 2'], []])
  })
})
