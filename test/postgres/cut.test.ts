import { expect, test } from 'bun:test'
import type { LedgerOperation, LedgerOutcome, LedgerStore } from '../../src/core/ledger.ts'
import { StoreUnavailable } from '../../src/core/store.ts'
import { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { PostgresLedger } from '../../src/store/postgres/ledger.ts'
import { Books, closeAfterEach } from './books.ts'

closeAfterEach()

/** Connections are cut at any moment, and everything is asked again until it is answered. */

const ROUNDS = 40
const BATCH = 8
const CHARGE = 7n
const TIME_MS_MAX = 180_000

const CUT = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'to be cut'`

async function again(
  ledger: LedgerStore,
  batch: readonly LedgerOperation[],
  count: () => void,
): Promise<readonly LedgerOutcome[]> {
  for (;;) {
    try {
      return await ledger.commit(batch)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      count()
    }
  }
}

test(
  'whatever is asked again because its answer got lost has happened once',
  async () => {
    const books = await Books.open({ accounts: ['ann', 'ben'], keys: 1, balance: 1_000_000n })
    const db = new PostgresDatabase({ url: books.url, connections: 1, settings: { application_name: 'to be cut' } })
    const ledger = new PostgresLedger(db)
    let [cuts, isOver] = [0, false]
    const cutting = (async () => {
      while (!isOver) {
        await Bun.sleep(Math.random() * 80)
        await books.tables.all(CUT)
      }
    })()
    const lost = () => {
      cuts++
    }
    for (let round = 0; round < ROUNDS; round++) {
      const ids = Array.from({ length: BATCH }, (_, place) => `${round}/${place}`)
      const keyOf = (id: string) => (id.endsWith('0') || id.endsWith('3') ? 'ann-1' : 'ben-1')
      const holds = await again(
        ledger,
        ids.map(id => books.hold(id, keyOf(id), { most: 100n })),
        lost,
      )
      expect(holds.map(({ type }) => type)).toEqual(ids.map(() => 'held'))
      await again(ledger, [books.extend(`${round}/0`, 10n)], lost)
      const end = [
        ...ids.slice(1).map(id => books.settle(id, keyOf(id), CHARGE)),
        books.refuse(`${round}/refused`, 'ann-1'),
        books.deposit('ann', 5n, { source: `${round}` }),
      ]
      await again(ledger, end, lost)
      await again(ledger, [books.settle(`${round}/0`, keyOf(`${round}/0`), CHARGE)], lost)
    }
    isOver = true
    await cutting
    await db.close()

    expect(cuts).toBeGreaterThan(0)
    const { tables } = books
    const spent = BigInt(ROUNDS * BATCH) * CHARGE
    const balance = 2_000_000n + BigInt(ROUNDS) * 5n - spent
    expect(
      await tables.get(
        `SELECT CAST(sum(balance) AS BIGINT) AS balance, CAST(sum(spent) AS BIGINT) AS spent,
                CAST(sum(held) AS BIGINT) AS held FROM accounts`,
      ),
    ).toEqual({ balance, spent, held: 0n })
    expect(await tables.all('SELECT 1 AS one FROM holds')).toEqual([])
    const twice = 'SELECT request_id FROM usage GROUP BY request_id HAVING count(*) > 1'
    expect(await tables.all(twice)).toEqual([])
    const verified = await books.verify()
    expect(verified).toMatchObject({ problem: undefined, usage: ROUNDS * (BATCH + 1), charges: ROUNDS * BATCH })
  },
  TIME_MS_MAX,
)

test('a statement that is executed after its caller has given up changes nothing that was done meanwhile', async () => {
  const books = await Books.open({ accounts: ['ann'], keys: 1, balance: 1_000n })
  const { ledger } = books.store
  const late = async (operation: LedgerOperation) => {
    await ledger.commit([operation]).catch(() => undefined)
  }
  const hold = books.hold('a', 'ann-1', { most: 100n })
  const settle = books.settle('a', 'ann-1', 40n)
  await ledger.commit([hold])
  await ledger.commit([settle])
  // All that was ever sent for this request arrives once more, in any order.
  for (const operation of [hold, settle, hold, books.extend('a', 50n), settle, books.refuse('a', 'ann-1')]) {
    await late(operation)
  }
  // A hold that arrives after its request was refused.
  await ledger.commit([books.refuse('b', 'ann-1')])
  await late(books.hold('b', 'ann-1', { most: 100n }))

  expect(await books.tables.get('SELECT balance, held, spent FROM accounts')).toEqual({
    balance: 960n,
    held: 0n,
    spent: 40n,
  })
  expect(await books.tables.all('SELECT request_id, status FROM usage ORDER BY 1')).toEqual([
    { request_id: 'a', status: 'ok' },
    { request_id: 'b', status: 'insufficient_user_quota' },
  ])
  expect((await books.verify()).problem).toBeUndefined()
})
