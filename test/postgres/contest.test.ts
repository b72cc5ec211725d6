import { expect, test } from 'bun:test'
import type { LedgerOperation, LedgerOutcome } from '../../src/core/ledger.ts'
import { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { PostgresLedger } from '../../src/store/postgres/ledger.ts'
import { Books, closeAfterEach, deadlocks } from './books.ts'

closeAfterEach()

/** Several processes at once on a few accounts that have next to nothing. */

const OWNERS = 5
const BATCHES = 60
const ACCOUNTS = ['ann', 'ben', 'cy']
const KEYS = ACCOUNTS.flatMap(id => [`${id}-1`, `${id}-2`])
const BALANCE = 20_000n
const CAP = 8_000n
const TIME_MS_MAX = 180_000

interface Open {
  readonly requestId: string
  readonly keyId: string
  held: bigint
}

const between = (low: number, high: number): number => low + Math.floor(Math.random() * (high - low + 1))
const pick = <T>(list: readonly T[]): T => list[between(0, list.length - 1)] as T

/** One process: holds, extends, settles for at most what it holds, and is told what it may. */
async function contend(books: Books, owner: string): Promise<bigint> {
  const db = new PostgresDatabase({ url: books.url, connections: 1 })
  const ledger = new PostgresLedger(db)
  const open: Open[] = []
  let charged = 0n
  let count = 0
  for (let batch = 0; batch < BATCHES; batch++) {
    const operations: LedgerOperation[] = []
    const follow: ((outcome: LedgerOutcome) => void)[] = []
    const add = (operation: LedgerOperation, then: (outcome: LedgerOutcome) => void) => {
      operations.push(operation)
      follow.push(then)
    }
    for (let place = between(1, 12); place > 0; place--) {
      const one = open.length > 0 ? pick(open) : undefined
      const drawn = Math.random()
      if (!one || drawn < 0.5) {
        const [requestId, keyId] = [`${owner}-${++count}`, pick(KEYS)]
        const least = BigInt(between(0, 300))
        add(books.hold(requestId, keyId, { most: least + BigInt(between(0, 500)), least, owner }), outcome => {
          if (outcome.type === 'held') open.push({ requestId, keyId, held: outcome.amount })
        })
      } else if (drawn < 0.6) {
        add(books.extend(one.requestId, BigInt(between(1, 300)), 1n), outcome => {
          if (outcome.type === 'held') one.held = outcome.amount
        })
      } else if (drawn < 0.65) {
        add(books.refuse(`${owner}-${++count}`, pick(KEYS)), () => {})
      } else {
        open.splice(open.indexOf(one), 1)
        const cost = BigInt(between(0, Number(one.held)))
        add(books.settle(one.requestId, one.keyId, cost), outcome => {
          expect(outcome.type).toBe('settled')
          charged += cost
        })
      }
    }
    const outcomes = await ledger.commit(operations)
    outcomes.forEach((outcome, place) => {
      follow[place]?.(outcome)
    })
  }
  await ledger.commit(open.map(({ requestId, keyId }) => books.settle(requestId, keyId, 0n)))
  await db.close()
  return charged
}

/** Looks all the time: at no moment may more be spent and held than there is. */
async function watch(books: Books, isOver: () => boolean): Promise<number> {
  let looks = 0
  while (!isOver()) {
    const over = await books.tables.all(
      `SELECT id FROM accounts WHERE held > balance OR held < 0 OR balance < 0
       UNION ALL SELECT id FROM keys WHERE spent + held > cap OR held < 0`,
    )
    expect(over).toEqual([])
    looks++
    await Bun.sleep(2)
  }
  return looks
}

test(
  'whoever comes at the same time, no more is given away than there is, sums are exact, and nobody waits in a circle',
  async () => {
    const books = await Books.open({ accounts: ACCOUNTS, keys: 2, cap: CAP, balance: BALANCE })
    const before = await deadlocks(books.tables)
    let isOver = false
    const looks = watch(books, () => isOver)
    const owners = Array.from({ length: OWNERS }, (_, place) => contend(books, `owner ${place}`))
    const charges = await Promise.all(owners).finally(() => {
      isOver = true
    })
    expect(await looks).toBeGreaterThan(0)

    const charged = charges.reduce((sum, one) => sum + one, 0n)
    const row = await books.tables.get<Record<string, bigint>>(
      `SELECT CAST(sum(balance) AS BIGINT) AS balance, CAST(sum(spent) AS BIGINT) AS spent,
              CAST(sum(held) AS BIGINT) AS held FROM accounts`,
    )
    const all = BALANCE * BigInt(ACCOUNTS.length)
    expect(row).toEqual({ balance: all - charged, spent: charged, held: 0n })
    expect(charged).toBeGreaterThan(0n)
    const verified = await books.verify()
    expect(verified.problem).toBeUndefined()
    expect(verified.openHolds).toBe(0)
    expect(await deadlocks(books.tables)).toBe(before)
  },
  TIME_MS_MAX,
)

test(
  'of many equal holds at the same time, as many are taken as there is money for',
  async () => {
    const books = await Books.open({ accounts: ['ann'], keys: 4, balance: 1_000n })
    const databases = Array.from({ length: 4 }, () => new PostgresDatabase({ url: books.url, connections: 1 }))
    const outcomes = await Promise.all(
      databases.map((db, owner) => {
        const holds = Array.from({ length: 30 }, (_, place) =>
          books.hold(`${owner}/${place}`, `ann-${owner + 1}`, { most: 90n, owner: `${owner}` }),
        )
        return new PostgresLedger(db).commit(holds)
      }),
    )
    expect(outcomes.flat().filter(({ type }) => type === 'held')).toHaveLength(11)
    expect(outcomes.flat().filter(({ type }) => type === 'balance-short')).toHaveLength(109)
    await Promise.all(databases.map(db => db.close()))
  },
  TIME_MS_MAX,
)

test('what is not there changes nothing for those it comes with, whatever their order', async () => {
  const books = await Books.open({ accounts: ['ann', 'ben'], keys: 1, balance: 100n })
  const { ledger } = books.store
  const outcomes = await ledger.commit([
    books.refuse('stranger', 'aaa-1'),
    books.deposit('nobody', 1n, { source: 'a' }),
    books.deposit('ben', 1n, { source: 'a' }),
    books.refuse('another', 'zzz-1'),
    books.hold('one', 'ann-1', { most: 5n }),
  ])
  expect(outcomes.map(({ type }) => type)).toEqual(['recorded', 'no-account', 'deposited', 'recorded', 'held'])
  expect(await books.tables.all('SELECT id, balance, held FROM accounts ORDER BY id')).toEqual([
    { id: 'ann', balance: 100n, held: 5n },
    { id: 'ben', balance: 101n, held: 0n },
  ])
  expect(await books.tables.all('SELECT id, held FROM keys ORDER BY id')).toEqual([
    { id: 'ann-1', held: 5n },
    { id: 'ben-1', held: 0n },
  ])
})
