import { beforeEach, describe, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { GatewayError } from '../../src/core/failure.ts'
import type { LedgerOperation } from '../../src/core/ledger.ts'
import { nanos } from '../../src/core/money.ts'
import { StoreBusy } from '../../src/core/store.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { AT, Books, closeAfterEach } from './books.ts'

closeAfterEach()

/** Somebody else has locked what a call needs: that is not waited for for ever, and nobody else is kept waiting. */

const TIME_MS_MAX = 30_000

let books: Books

beforeEach(async () => {
  books = await Books.open({ accounts: ['ann', 'ben', 'cid'], keys: 1, balance: 1_000n })
})

/** Returns how to give it up. */
async function lock(sql: string): Promise<() => Promise<void>> {
  const other = new SQL({ url: books.url, max: 1 })
  const [isTaken, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const locking = other.begin(async tx => {
    await tx.unsafe(sql)
    isTaken.resolve()
    await isReleased.promise
  })
  await isTaken.promise
  return async () => {
    isReleased.resolve()
    await locking
    await other.close()
  }
}

const lockAccount = (id: string) => lock(`SELECT id FROM accounts WHERE id = '${id}' FOR UPDATE`)

describe('a batch', () => {
  const busyWith = async (batch: readonly LedgerOperation[]): Promise<string[] | undefined> => {
    const error: unknown = await books.store.ledger.commit(batch).catch(found => found)
    return error instanceof StoreBusy ? [...error.accountIds].sort() : undefined
  }

  test(
    'fails with the names of those who are locked, and has done nothing',
    async () => {
      const { ledger } = books.store
      await ledger.commit([books.hold('a', 'ann-1', { most: 1n }), books.hold('b', 'ben-1', { most: 1n })])
      const batch = [books.settle('a', 'ann-1', 1n), books.settle('b', 'ben-1', 1n)]
      const release = await lockAccount('ann')
      expect(await busyWith(batch)).toEqual(['ann'])
      expect(await busyWith([books.extend('a', 1n), books.hold('c', 'cid-1', { most: 1n })])).toEqual(['ann'])
      expect(await books.tables.all('SELECT request_id FROM usage')).toEqual([])
      expect(await ledger.commit([books.settle('b', 'ben-1', 1n)])).toMatchObject([{ type: 'settled' }])
      await release()
      expect(await ledger.commit(batch)).toMatchObject([{ settled: { balance: 999n } }, { settled: { balance: 999n } }])
      expect((await books.verify()).problem).toBeUndefined()
    },
    TIME_MS_MAX,
  )

  test(
    'fails for a key that is locked, too',
    async () => {
      const release = await lock(`SELECT id FROM keys WHERE id = 'ben-1' FOR UPDATE`)
      const holds = ['ann-1', 'ben-1'].map(keyId => books.hold(keyId, keyId, { most: 1n }))
      expect(await busyWith(holds)).toEqual(['ben'])
      await release()
    },
    TIME_MS_MAX,
  )
})

describe('a ledger', () => {
  let ledger: Ledger
  let told: string[]

  beforeEach(() => {
    told = []
    const watcher = { away: () => told.push('away'), back: () => told.push('back') }
    ledger = new Ledger(books.store.ledger, { owner: 'one', clock: Date.now, watcher })
  })

  const hold = (requestId: string, accountId: string) =>
    ledger.hold({
      ...{ requestId, accountId, keyId: `${accountId}-1`, call: books.call },
      ...{ most: nanos(1n), least: nanos(1n), at: AT },
    })

  const settle = (requestId: string, accountId: string) => {
    const operation = books.settle(requestId, `${accountId}-1`, 1n)
    if (operation.type !== 'settle') throw new Error('that is no settlement')
    return ledger.settle(operation.closing)
  }

  const failureOf = async (work: Promise<unknown>): Promise<string> => {
    const error: unknown = await work.then(
      () => 'none',
      found => found,
    )
    return error instanceof GatewayError ? error.failure.kind : String(error)
  }

  test(
    'goes on for everyone else while an account is locked, refuses what would wait for it, and settles when it is free',
    async () => {
      await hold('before', 'ann')
      const release = await lockAccount('ann')
      const settled = settle('before', 'ann')
      const refused: string[] = []
      let others = 0
      for (let round = 0; refused.length < 3; round++) {
        const added = failureOf(hold(`ann ${round}`, 'ann')).then(kind => refused.push(kind))
        // Everyone else is served until the one that has to wait is refused, and that is what this waits for.
        for (let isWaiting = true; isWaiting; others++) {
          await hold(`ben ${round} ${others}`, 'ben')
          await settle(`ben ${round} ${others}`, 'ben')
          isWaiting = await Promise.race([added.then(() => false), Bun.sleep(5).then(() => true)])
        }
      }
      expect(refused).toEqual(['ledger-unavailable', 'ledger-unavailable', 'ledger-unavailable'])
      expect(others).toBeGreaterThan(10)
      expect([ledger.isAvailable, ledger.settlementsWaiting, told]).toEqual([true, 1, []])

      await release()
      expect((await settled).balance).toBe(nanos(999n))
      await hold('after', 'ann')
      await settle('after', 'ann')
      expect([ledger.settlementsWaiting, ledger.holdsOpen, told]).toEqual([0, 0, []])
      expect(await books.verify()).toMatchObject({ problem: undefined, openHolds: 0 })
    },
    TIME_MS_MAX,
  )

  test(
    'releases what dead processes hold of all others while an account is locked',
    async () => {
      const { store } = books
      await store.ledger.commit(['ann-1', 'ben-1'].map(id => books.hold(id, id, { most: 5n, owner: 'one' })))
      const release = await lockAccount('ann')
      expect(await ledger.recover()).toBe(1)
      await release()
      expect(await ledger.recover()).toBe(1)
      expect((await books.verify()).problem).toBeUndefined()
    },
    TIME_MS_MAX,
  )

  test(
    'is away while a whole table is locked, and is back when it is free',
    async () => {
      await hold('before', 'ann')
      const release = await lock('LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE')
      const settled = settle('before', 'ann')
      const names = ['ann', 'ben', 'cid']
      const refused = await Promise.all(names.map(id => failureOf(hold(`of ${id}`, id))))
      expect(refused).toEqual(names.map(() => 'ledger-unavailable'))
      await release()
      expect((await settled).balance).toBe(nanos(999n))
      expect((await books.verify()).problem).toBeUndefined()
    },
    TIME_MS_MAX,
  )
})
