import { beforeEach, describe, expect, test } from 'bun:test'
import { LEASE_MS } from '../../src/core/leases.ts'
import type { LedgerOutcome, LedgerStore } from '../../src/core/ledger.ts'
import type { StoredAnswer } from '../../src/core/repeats.ts'
import { AT, Books, closeAfterEach } from './books.ts'

closeAfterEach()

/** Who holds money, how long that is believed, and who may say that somebody is dead. Times are by the server's clock. */

let books: Books
let ledger: LedgerStore

beforeEach(async () => {
  books = await Books.open({ accounts: ['ann'], keys: 1, balance: 1_000n })
  ledger = books.store.ledger
})

const recover = async (owner: string, underWay: readonly string[] = []): Promise<LedgerOutcome | undefined> => {
  const survivors = { owner, underWay: new Set(underWay) }
  return (await ledger.commit([{ type: 'recover', survivors, at: AT + 1_000 }]))[0]
}

const renew = (owner: string) => ledger.commit([{ type: 'renew', lease: { owner, expiresAt: 0 } }])

/** So much later nobody was heard of; those who are named were, all the time. */
async function later(ms: number, alive: readonly string[] = []): Promise<void> {
  await books.tables.run('UPDATE owners SET since = since - ?, expires_at = expires_at - ?', ms, ms)
  for (const owner of alive) {
    await books.tables.run('UPDATE owners SET expires_at = duet_now() + ? WHERE owner = ?', LEASE_MS, owner)
  }
}

const held = async () => (await books.tables.get<{ held: bigint }>('SELECT held FROM accounts'))?.held
const released = (holds: number): LedgerOutcome => ({ type: 'released', holds })

describe('an owner', () => {
  test('has a lease with its first hold, and no shorter one with the next', async () => {
    await ledger.commit([books.hold('a', 'ann-1', { most: 10n, owner: 'one' })])
    const lease = 'SELECT expires_at > duet_now() AS is_alive FROM owners WHERE owner = ?'
    expect(await books.tables.get(lease, 'one')).toEqual({ is_alive: true })
    await ledger.commit([books.hold('b', 'ann-1', { most: 10n, owner: 'one' })])
    expect(await books.tables.get(lease, 'one')).toEqual({ is_alive: true })
  })

  test('gives back at once what it holds for no call', async () => {
    await ledger.commit(['a', 'b', 'c'].map(id => books.hold(id, 'ann-1', { most: 10n, owner: 'one' })))
    expect(await recover('one', ['b'])).toEqual(released(2))
    expect(await held()).toBe(10n)
    expect(await recover('one', ['b'])).toEqual(released(0))
    expect(await books.store.records.receipt('a')).toMatchObject({
      row: { status: 'interrupted', cost: 0n, held: 10n, durationMs: 1_000 },
    })
    expect((await books.verify()).problem).toBeUndefined()
  })

  test('that lives is left alone by others', async () => {
    await ledger.commit([books.hold('a', 'ann-1', { most: 10n, owner: 'one' })])
    await renew('two')
    await later(10 * LEASE_MS, ['one', 'two'])
    expect(await recover('two')).toEqual(released(0))
    expect(await held()).toBe(10n)
  })

  test('that is dead is found by any other, once', async () => {
    await ledger.commit([books.hold('a', 'ann-1', { most: 10n, owner: 'one' })])
    await renew('two')
    await later(LEASE_MS, ['two'])
    expect(await recover('two')).toEqual(released(1))
    expect(await recover('two')).toEqual(released(0))
    expect(await held()).toBe(0n)
    expect((await books.verify()).problem).toBeUndefined()
  })

  test('that nobody has ever heard of is dead', async () => {
    await ledger.commit([books.hold('a', 'ann-1', { most: 10n, owner: 'one' })])
    await books.tables.run(`DELETE FROM owners WHERE owner = 'one'`)
    await renew('two')
    await later(LEASE_MS, ['two'])
    expect(await recover('two')).toEqual(released(1))
  })
})

describe('whoever says that others are dead', () => {
  test('has been heard of for a whole lease', async () => {
    await ledger.commit([books.hold('a', 'ann-1', { most: 10n, owner: 'one' })])
    await later(2 * LEASE_MS)
    await renew('two')
    expect(await recover('two')).toEqual(released(0))
    await later(LEASE_MS - 1_000, ['two'])
    expect(await recover('two')).toEqual(released(0))
    await later(1_000, ['two'])
    expect(await recover('two')).toEqual(released(1))
  })

  test('and without a break: after the database was away, everybody has time to be heard of', async () => {
    await ledger.commit([books.hold('a', 'ann-1', { most: 10n, owner: 'one' })])
    await renew('two')
    await later(10 * LEASE_MS)
    await renew('two')
    expect(await recover('two')).toEqual(released(0))
    await renew('one')
    await later(LEASE_MS, ['one', 'two'])
    expect(await recover('two')).toEqual(released(0))
    expect(await held()).toBe(10n)
  })
})

describe('a clock of the server that is set back', () => {
  const HOUR_MS = 3_600_000

  /** Everything that was written before has a time that is still to come. */
  const setBack = (ms: number) =>
    books.tables.run('UPDATE owners SET since = since + ?, expires_at = expires_at + ?', ms, ms)

  test('keeps no dead owner alive', async () => {
    await ledger.commit([books.hold('a', 'ann-1', { most: 10n, owner: 'one' })])
    await renew('two')
    await setBack(HOUR_MS)
    await renew('two')
    await later(LEASE_MS, ['two'])
    await books.tables.run(`UPDATE owners SET expires_at = expires_at + ? WHERE owner = 'one'`, LEASE_MS)
    expect(await recover('two')).toEqual(released(1))
    expect(await books.tables.all('SELECT owner FROM owners')).toEqual([{ owner: 'two' }])
  })

  test('gives everybody the time to be heard of', async () => {
    await ledger.commit([books.hold('a', 'ann-1', { most: 10n, owner: 'one' })])
    await renew('two')
    await later(LEASE_MS, ['one', 'two'])
    await setBack(HOUR_MS)
    expect(await recover('two')).toEqual(released(0))
    await renew('two')
    expect(await recover('two')).toEqual(released(0))
    await renew('one')
    await later(LEASE_MS, ['one', 'two'])
    expect(await recover('two')).toEqual(released(0))
    expect(await held()).toBe(10n)
  })
})

test('owners that are gone for a day and hold nothing are forgotten, whether there is anything to release or not', async () => {
  await renew('one')
  await later(2 * 24 * 3_600_000)
  await renew('two')
  await later(LEASE_MS, ['two'])
  expect(await recover('two')).toEqual(released(0))
  expect(await books.tables.all('SELECT owner FROM owners')).toEqual([{ owner: 'two' }])
})

describe('a call whose owner was taken for dead', () => {
  beforeEach(async () => {
    await ledger.commit([books.hold('a', 'ann-1', { most: 100n, owner: 'one' })])
    await renew('two')
    await later(LEASE_MS, ['two'])
    expect(await recover('two')).toEqual(released(1))
  })

  test('is charged after all when it ends, once, in place of its interruption', async () => {
    const settle = books.settle('a', 'ann-1', 40n)
    const [first] = await ledger.commit([settle])
    expect(first).toEqual({ type: 'settled', settled: { cost: 40n, balance: 960n, keyRemaining: undefined } as never })
    expect(await ledger.commit([settle, settle])).toEqual([first, first] as LedgerOutcome[])
    expect(await books.tables.all('SELECT status, cost, held FROM usage')).toEqual([
      { status: 'ok', cost: 40n, held: 100n },
    ])
    expect(await books.tables.all('SELECT status, requests, cost FROM usage_hours')).toEqual([
      { status: 'ok', requests: 1n, cost: 40n },
    ])
    expect(await books.verify()).toMatchObject({ problem: undefined, charges: 1, usage: 1, balance: 960n })
  })

  test('is charged in a batch with the holds of others as well', async () => {
    const batch = [books.settle('a', 'ann-1', 40n), books.hold('b', 'ann-1', { most: 10n, owner: 'one' })]
    expect(await ledger.commit(batch)).toMatchObject([{ settled: { cost: 40n, balance: 960n } }, { type: 'held' }])
    expect(await books.tables.all('SELECT status, cost, held FROM usage')).toEqual([
      { status: 'ok', cost: 40n, held: 100n },
    ])
    expect(await books.verify()).toMatchObject({ problem: undefined, charges: 1, usage: 1, balance: 960n })
  })

  const answerOf = (requestId: string): StoredAnswer => ({
    ...{ keyId: 'ann-1', nameHash: 'name', fingerprint: 'print', requestId, headers: {}, isStream: false },
    ...{ sealed: new Uint8Array([1, 2, 3]), expiresAt: AT + 86_400_000 },
  })

  test('has its answer stored with its charge', async () => {
    const settle = books.settle('a', 'ann-1', 40n, { answer: answerOf('a') })
    await ledger.commit([books.hold('b', 'ann-1', { most: 10n, owner: 'one' }), settle])
    const found = await books.store.answers.find({ keyId: 'ann-1', nameHash: 'name' }, AT)
    expect(found).toEqual(answerOf('a'))
  })

  test('and whose name was called again by another is charged, and leaves the answer that there is', async () => {
    await ledger.commit([books.hold('b', 'ann-1', { most: 10n, owner: 'two' })])
    await ledger.commit([books.settle('b', 'ann-1', 10n, { answer: answerOf('b') })])
    const [late] = await ledger.commit([books.settle('a', 'ann-1', 40n, { answer: answerOf('a') })])
    expect(late).toMatchObject({ settled: { cost: 40n, balance: 950n } })
    const name = { keyId: 'ann-1', nameHash: 'name' }
    expect((await books.store.answers.find(name, AT))?.requestId).toBe('b')
    // When its time is over the name is free, and the next answer takes its place.
    const startedAt = AT + 86_400_000
    await ledger.commit([books.hold('c', 'ann-1', { most: 10n, at: startedAt })])
    const answer = { ...answerOf('c'), expiresAt: startedAt + 86_400_000 }
    await ledger.commit([books.settle('c', 'ann-1', 10n, { startedAt, answer })])
    expect((await books.store.answers.find(name, startedAt))?.requestId).toBe('c')
    expect(await books.verify()).toMatchObject({ problem: undefined, charges: 3, balance: 940n })
  })

  test('and the sums of its hour keep the other interruptions', async () => {
    await ledger.commit([books.hold('b', 'ann-1', { most: 100n, owner: 'two' })])
    expect(await recover('two')).toEqual(released(1))
    await ledger.commit([books.settle('a', 'ann-1', 40n)])
    expect(await books.tables.all('SELECT status, requests FROM usage_hours ORDER BY status')).toEqual([
      { status: 'interrupted', requests: 1n },
      { status: 'ok', requests: 1n },
    ])
    expect((await books.verify()).problem).toBeUndefined()
  })

  test('has nothing more to spend meanwhile', async () => {
    expect(await ledger.commit([books.extend('a', 10n)])).toEqual([{ type: 'no-hold' }])
  })
})
