import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError } from '../../src/core/failure.ts'
import { LEASE_MS } from '../../src/core/leases.ts'
import type { Closing, HeldCall, LedgerOperation, LedgerStore, Refusal } from '../../src/core/ledger.ts'
import { dollars, nanos, pricePerMillion } from '../../src/core/money.ts'
import type { PriceVersion } from '../../src/core/price.ts'
import type { Store } from '../../src/core/store.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { verify } from '../../src/ledger/verify.ts'
import { databasePath } from '../../src/open-store.ts'
import { Journal } from '../../src/store/sqlite/journal.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { STORE } from '../support/databases.ts'
import { newFolder } from '../support/duet.ts'
import { openStoreOf } from '../support/stores.ts'

/** The ledger itself, on a store: what no client can make a server do. */

/** How it is on PostgreSQL, where others may still live, is in `test/postgres/leases.test.ts`. */
const testOfOneProcess = test.skipIf(STORE !== 'sqlite')

const CALL: Omit<HeldCall, 'priceId'> = {
  model: 'acme/chat',
  channel: 'main',
  protocol: 'chat',
  upstreamProtocol: 'chat',
  stream: true,
}
const WHO = { accountId: 'acc', keyId: 'key' }

let now = 1_790_000_000_000
const clock = () => now

let folder: string
let store: Store
let ledger: Ledger
let price: PriceVersion

beforeEach(async () => {
  folder = newFolder()
  await open('first')
  await store.directory.createAccount({ id: 'acc', name: 'acc', group: 'default', createdAt: now })
  const limits = { cap: dollars(5), models: undefined, expiresAt: undefined }
  await store.directory.createKey({
    ...{ id: 'key', accountId: 'acc', name: 'key', secretHash: 'hash', hint: '', createdAt: now },
    ...limits,
  })
  await ledger.deposit({
    kind: 'topup',
    accountId: 'acc',
    amount: dollars(10),
    source: 'first',
    note: undefined,
    at: now,
  })
  const perMillion = pricePerMillion(1)
  const rates = { input: perMillion, output: pricePerMillion(4), cacheRead: perMillion, cacheWrite: perMillion }
  const prices = await store.prices.publish([{ model: CALL.model, price: rates }], now)
  price = prices.get(CALL.model) as PriceVersion
})

afterEach(async () => {
  const { problem } = await verify(store.audit)
  expect(problem).toBeUndefined()
  await store.close()
})

/** Opens the store as a process of this name would, or as the same one does after a restart. */
async function open(owner: string, around: (inner: LedgerStore) => LedgerStore = inner => inner): Promise<void> {
  store = await openStoreOf(folder)
  ledger = new Ledger(around(store.ledger), { owner, clock })
}

const hold = (requestId: string, tokens = 1_000) => {
  const amount = nanos(BigInt(tokens) * 4_000n)
  return ledger.hold({ requestId, ...WHO, call: callOf(), most: amount, least: amount, at: now })
}
const callOf = (): HeldCall => ({ ...CALL, priceId: price.id })

const closing = (requestId: string, output = 100): Closing => ({
  ...{ requestId, ...WHO, call: callOf(), price, status: 'ok', ending: 'stop' },
  ...{ usage: { input: 0, cacheRead: 0, cacheWrite: 0, output, reasoning: 0 }, source: 'upstream' },
  ...{ startedAt: now, firstByteMs: 1, durationMs: 2 },
})

const state = async () => {
  const account = await store.directory.account('acc')
  const key = await store.directory.key('key')
  const usage = await store.records.usage({ cursor: undefined, limit: 100 })
  return {
    balance: account?.balance,
    held: [account?.held, key?.held],
    spent: [account?.spent, key?.spent],
    records: usage.rows.map(({ requestId, status }) => `${requestId} ${status}`).sort(),
  }
}

const untouched = {
  balance: dollars(10),
  held: [nanos(0n), nanos(0n)],
  spent: [nanos(0n), nanos(0n)],
}
const CHARGE = nanos(400_000n)
const chargedOnce = {
  balance: nanos(dollars(10) - CHARGE),
  held: [nanos(0n), nanos(0n)],
  spent: [CHARGE, CHARGE],
}

const refusal = (requestId: string): Refusal => ({
  ...{ requestId, ...WHO, model: CALL.model, protocol: 'chat', stream: false, startedAt: now, durationMs: 1 },
  ...{ status: 'ledger_unavailable', error: 'The ledger is not available' },
})

describe('4. Nothing leaks: a request is settled exactly once', () => {
  test('twice in one batch', async () => {
    await hold('a')
    const results = await Promise.all([ledger.settle(closing('a')), ledger.settle(closing('a'))])
    expect(results.map(({ balance }) => balance)).toEqual(Array(2).fill(chargedOnce.balance))
    expect(await state()).toEqual({ ...chargedOnce, records: ['a ok'] })
  })

  test('again later, and with other numbers', async () => {
    await hold('a')
    await ledger.settle(closing('a'))
    await ledger.settle(closing('a', 900))
    await ledger.settle({ ...closing('a'), status: 'client_gone' })
    expect(await state()).toEqual({ ...chargedOnce, records: ['a ok'] })
  })

  test('held and settled in one batch', async () => {
    await Promise.all([hold('a'), ledger.settle(closing('a'))])
    expect(await state()).toEqual({ ...chargedOnce, records: ['a ok'] })
  })

  testOfOneProcess('after the process that held it died, and came back too late', async () => {
    await hold('a')
    await store.close()
    await open('second')
    expect(await ledger.recover()).toBe(1)
    await ledger.settle(closing('a'))
    expect(await ledger.recover()).toBe(0)
    expect(await state()).toEqual({ ...untouched, records: ['a interrupted'] })
  })

  test('a request that was never held is not charged', async () => {
    await ledger.settle(closing('never'))
    expect(await state()).toEqual({ ...untouched, records: [] })
  })

  test('an extension after the end takes nothing', async () => {
    await hold('a')
    await ledger.settle(closing('a'))
    expect(await ledger.extend({ requestId: 'a', most: dollars(1), least: nanos(1n) })).toBeUndefined()
    expect(await state()).toEqual({ ...chargedOnce, records: ['a ok'] })
  })

  test('an extension and the end in one batch leave nothing held, in either order', async () => {
    await Promise.all([hold('a'), hold('b')])
    const extend = (requestId: string) => ledger.extend({ requestId, most: dollars(1), least: nanos(1n) })
    await Promise.all([
      ...[extend('a'), ledger.settle(closing('a', 50))],
      ...[ledger.settle(closing('b', 50)), extend('b')],
    ])
    expect(await state()).toEqual({ ...chargedOnce, records: ['a ok', 'b ok'] })
  })

  test('a top-up of one source is applied once, in one batch and ever after', async () => {
    const deposit = (source: string) =>
      ledger.deposit({ kind: 'topup', accountId: 'acc', amount: dollars(1), source, note: undefined, at: now })
    const both = await Promise.all([deposit('invoice 7'), deposit('invoice 7')])
    const later = await deposit('invoice 7')
    const entries = [...both, later].filter(outcome => outcome.type === 'deposited')
    expect(entries.map(({ applied }) => applied)).toEqual([true, false, false])
    expect(new Set(entries.map(({ entry }) => entry.hash)).size).toBe(1)
    expect((await state()).balance).toBe(dollars(11))
  })
})

describe('4. Nothing leaks: owners and leases', () => {
  /** Read in a copy: the file itself is locked to the ledger. */
  const leases = () => {
    const copy = join(newFolder(), 'duet.db')
    const path = databasePath(join(folder, 'data'))
    for (const end of ['', '-wal']) copyFileSync(path + end, copy + end)
    // Opening it brings what is in the journal into the tables, and does no more.
    openSqlite({ path: copy, durability: 'process' }).close()
    const db = new Database(copy)
    const rows = db.query('SELECT request_id, owner, expires_at FROM holds ORDER BY 1').values()
    db.close()
    return rows.map(([request, owner, end]) => [request, owner, Number(end) - now])
  }

  testOfOneProcess('a hold names its owner, and is certain for a lease; an owner that lives renews it', async () => {
    await hold('a')
    expect(leases()).toEqual([['a', 'first', LEASE_MS]])
    now += LEASE_MS - 1_000
    await hold('b')
    await ledger.tend()
    expect(leases()).toEqual([
      ['a', 'first', LEASE_MS],
      ['b', 'first', LEASE_MS],
    ])
    await Promise.all([ledger.settle(closing('a', 50)), ledger.settle(closing('b', 50))])
    expect(leases()).toEqual([])
  })

  test("a living owner's holds are never taken for a dead one's", async () => {
    await hold('a')
    now += 3_600_000
    expect(await ledger.tend()).toEqual({ recovered: 0, overdue: 0 })
    expect((await state()).held).toEqual([nanos(4_000_000n), nanos(4_000_000n)])
    await ledger.settle(closing('a'))
  })
})

/** Fails as often as it is told, before or after the inner store has written. */
class Failing implements LedgerStore {
  before = 0
  after = 0
  private readonly inner: LedgerStore

  constructor(inner: LedgerStore) {
    this.inner = inner
  }

  async commit(batch: readonly LedgerOperation[]) {
    if (this.before > 0) {
      this.before--
      throw new Error('the disk is full')
    }
    const outcomes = await this.inner.commit(batch)
    if (this.after > 0) {
      this.after--
      throw new Error('the connection broke')
    }
    return outcomes
  }
}

describe('4. Nothing leaks: a ledger that cannot write', () => {
  let failing: Failing

  beforeEach(async () => {
    await store.close()
    await open('first', inner => {
      failing = new Failing(inner)
      return failing
    })
  })

  const unavailable = async (work: Promise<unknown>) => {
    const error = await work.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(GatewayError)
    expect((error as GatewayError).failure).toEqual({ kind: 'ledger-unavailable' })
  }

  test('refuses new calls, and holds nothing for them', async () => {
    failing.before = 1
    await unavailable(hold('a'))
    expect(await state()).toEqual({ ...untouched, records: [] })
  })

  test('gives back a hold of which it never heard whether it was taken', async () => {
    failing.after = 1
    await unavailable(hold('a'))
    expect((await state()).held).toEqual([nanos(4_000_000n), nanos(4_000_000n)])
    await ledger.tend()
    expect(await state()).toEqual({ ...untouched, records: ['a interrupted'] })
  })

  test('gives back such a hold at once where its caller is told that there is none, and once', async () => {
    failing.after = 1
    await unavailable(hold('a'))
    await ledger.refuse(refusal('a'))
    expect(await state()).toEqual({ ...untouched, records: ['a ledger_unavailable'] })
    await ledger.tend()
    await ledger.refuse(refusal('a'))
    expect(await state()).toEqual({ ...untouched, records: ['a ledger_unavailable'] })
  })

  for (const when of ['before', 'after'] as const) {
    test(`records a refusal once that is told again, because it failed ${when} the write`, async () => {
      failing[when] = 1
      await unavailable(ledger.refuse(refusal('a')))
      await Promise.all([ledger.refuse(refusal('a')), ledger.refuse(refusal('a'))])
      expect(await state()).toEqual({ ...untouched, records: ['a ledger_unavailable'] })
    })
  }

  test('does not record as refused what was recorded before', async () => {
    failing.after = 1
    await unavailable(hold('a'))
    await ledger.tend()
    await ledger.refuse(refusal('a'))
    expect(await state()).toEqual({ ...untouched, records: ['a interrupted'] })
  })

  for (const when of ['before', 'after'] as const) {
    test(`settles later what it could not settle, once, if it failed ${when} the write`, async () => {
      await hold('a')
      failing[when] = 1
      await unavailable(ledger.settle(closing('a')))
      ledger.settleLater(closing('a'))
      await ledger.tend()
      await ledger.drain()
      expect(await state()).toEqual({ ...chargedOnce, records: ['a ok'] })
    })
  }

  test('lets no operation take its neighbours with it', async () => {
    await Promise.all([hold('a'), hold('b')])
    failing.before = 1
    const stranger = ledger.settle({ ...closing('x'), accountId: 'nobody' })
    const results = await Promise.allSettled([
      ledger.settle(closing('a', 50)),
      stranger,
      ledger.settle(closing('b', 50)),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await state()).toEqual({ ...chargedOnce, records: ['a ok', 'b ok'] })
  })

  testOfOneProcess(
    'takes no money twice for holds that came together, were written, and were reported as failed',
    async () => {
      const append = spyOn(Journal.prototype, 'append')
      append.mockImplementationOnce(function (this: Journal, rows) {
        append.mockRestore()
        this.append(rows)
        throw new Error('written, and reported as failed')
      })
      await Promise.all([unavailable(hold('a')), unavailable(hold('b'))])
      await hold('c')
      await ledger.tend()
      await ledger.settle(closing('c'))
      await store.close()
      await open('second')
      expect(await state()).toEqual({ ...chargedOnce, records: ['a interrupted', 'b interrupted', 'c ok'] })
    },
  )

  test('takes no money under an id that was refused before', async () => {
    await ledger.refuse(refusal('a'))
    await unavailable(hold('a'))
    expect(await state()).toEqual({ ...untouched, records: ['a ledger_unavailable'] })
  })

  test('writes what is overdue before it says that everything is written', async () => {
    await hold('a')
    failing.before = 1
    await unavailable(ledger.settle(closing('a')))
    ledger.settleLater(closing('a'))
    await ledger.drain()
    expect(await state()).toEqual({ ...chargedOnce, records: ['a ok'] })
  })
})
