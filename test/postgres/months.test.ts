import { describe, expect, setSystemTime, test } from 'bun:test'
import { monthOf, monthsBetween } from '../../src/store/postgres/months.ts'
import { Partitions } from '../../src/store/postgres/partitions.ts'
import { Books, closeAfterEach, openAt } from './books.ts'

closeAfterEach()

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const at = (year: number, month: number, day = 10): number => Date.UTC(year, month - 1, day)

const open = () => Books.open({ accounts: ['ann', 'ben'], keys: 2, balance: 1_000_000n, at: at(2031, 1, 2) })

const tablesOf = async ({ tables }: Books, name: string): Promise<string[]> => {
  const rows = await tables.all<{ name: string }>(
    `SELECT CAST(inhrelid AS REGCLASS)::TEXT AS name FROM pg_inherits WHERE inhparent = CAST(? AS REGCLASS) ORDER BY 1`,
    name,
  )
  return rows.map(row => row.name)
}

const countIn = async ({ tables }: Books, table: string): Promise<number> =>
  Number((await tables.get<{ n: bigint }>(`SELECT count(*) AS n FROM ${table}`))?.n)

/** As if it were this time for the server. */
const partitionsAt = ({ tables }: Books, now: number, retentionMonths?: number): Partitions =>
  new Partitions(tables, { retentionMonths, clock: async () => now })

let requests = 0

/** Some calls of both accounts at this time. */
async function calls(books: Books, startedAt: number, count = 3): Promise<void> {
  for (let place = 0; place < count; place++) {
    for (const keyId of ['ann-1', 'ann-2', 'ben-1']) {
      const id = `r${++requests}`
      await books.store.ledger.commit([books.hold(id, keyId, { most: 100n, at: startedAt })])
      await books.store.ledger.commit([books.settle(id, keyId, BigInt(10 + place), { startedAt })])
    }
  }
}

describe('months', () => {
  test('begin and end with those of UTC', () => {
    expect(monthOf(at(2026, 12, 31))).toEqual({ name: '2026_12', from: at(2026, 12, 1), to: at(2027, 1, 1) })
    expect(monthsBetween(at(2026, 11, 30), at(2027, 1, 1)).map(({ name }) => name)).toEqual([
      '2026_11',
      '2026_12',
      '2027_01',
    ])
  })

  test('have their tables before they begin, once, whoever makes them', async () => {
    const books = await open()
    for (let time = 0; time < 3; time++) await partitionsAt(books, at(2031, 11)).keepUp()
    const several = Array.from({ length: 3 }, () => partitionsAt(books, at(2032, 1)))
    await Promise.all(several.map(partitions => partitions.keepUp()))
    const made = (await tablesOf(books, 'usage')).filter(name => name.startsWith('usage_203'))
    const months = ['2031_11', '2031_12', '2032_01', '2032_02', '2032_03', '2032_04']
    expect(made).toEqual(months.map(month => `usage_${month}`))
    expect(await several[0]?.keepUp()).toEqual([])
    expect(await tablesOf(books, 'entries')).toContain('entries_2032_04')
  })

  test('that came without one take over what was written meanwhile', async () => {
    const books = await open()
    await calls(books, at(2031, 5))
    expect(await countIn(books, 'usage_default')).toBe(9)
    await new Partitions(books.tables, {}).make(at(2031, 5), at(2031, 5))
    expect(await countIn(books, 'usage_default')).toBe(0)
    expect(await countIn(books, 'usage_2031_05')).toBe(9)
    expect(await countIn(books, 'entries_2031_05')).toBe(9)
    await calls(books, at(2031, 5))
    expect(await countIn(books, 'usage_2031_05')).toBe(18)
    expect(await books.verify()).toMatchObject({ problem: undefined, usage: 18, charges: 18 })
  })
})

describe('what is older than is kept', () => {
  async function threeMonths(): Promise<Books> {
    const books = await open()
    await new Partitions(books.tables, {}).make(at(2031, 1), at(2031, 4))
    for (const month of [1, 2, 3]) await calls(books, at(2031, month))
    return books
  }

  test('goes with its tables; its sums stay, and all that is left is still proven', async () => {
    const books = await threeMonths()
    const before = await books.verify()
    expect(await partitionsAt(books, at(2031, 3), 1).keepUp()).toContain('dropped entries_2031_01')

    expect(await tablesOf(books, 'usage')).not.toContain('usage_2031_01')
    expect(await tablesOf(books, 'usage')).toContain('usage_2031_02')
    expect(await books.store.records.summary(['account'], {}, 10)).toMatchObject([{ requests: 18 }, { requests: 9 }])
    const after = await books.verify()
    expect(after).toMatchObject({ problem: undefined, usage: 18, charges: 18, balance: before.balance })
    expect(after.heads).toEqual(before.heads)

    await calls(books, at(2031, 4))
    expect(await partitionsAt(books, at(2031, 5), 1).keepUp()).toContain('dropped entries_2031_03')
    expect(await books.verify()).toMatchObject({ problem: undefined, usage: 9, charges: 9 })
    expect(await partitionsAt(books, at(2031, 5), 1).keepUp()).toEqual([])
  })

  test('leaves the source of a deposit behind: it is still applied once', async () => {
    const books = await threeMonths()
    await partitionsAt(books, at(2031, 3), 1).keepUp()
    const again = books.deposit('ann', 1_000_000n, { source: 'beginning' })
    expect(await books.store.ledger.commit([again])).toMatchObject([
      { type: 'deposited', applied: false, entry: { seq: 1, at: at(2031, 1, 2) } },
    ])
  })

  test('keeps what came late, out of its order, until its turn', async () => {
    const books = await threeMonths()
    // A code that was redeemed in January and is paid in March.
    await books.store.ledger.commit([books.deposit('ann', 500n, { source: 'late', at: at(2031, 1, 20) })])
    await calls(books, at(2031, 3, 20))
    const before = await books.verify()
    await partitionsAt(books, at(2031, 3), 1).keepUp()
    expect(await tablesOf(books, 'entries')).not.toContain('entries_2031_01')
    expect(await countIn(books, 'entries_default')).toBe(1)
    expect(await books.verify()).toMatchObject({ problem: undefined, balance: before.balance, heads: before.heads })

    await calls(books, at(2031, 4))
    await partitionsAt(books, at(2031, 4), 0).keepUp()
    await partitionsAt(books, at(2031, 4), 0).keepUp()
    expect(await countIn(books, 'entries_default')).toBe(0)
    expect(await books.verify()).toMatchObject({ problem: undefined, usage: 9 })
  })

  test('is not missed when a row that is left was changed, or one is taken away', async () => {
    const books = await threeMonths()
    await partitionsAt(books, at(2031, 3), 1).keepUp()
    const { tables } = books
    await tables.run(`UPDATE openings SET balance = balance + 1 WHERE account_id = 'ann'`)
    expect((await books.verify()).problem?.problem).toBe('the balance is not the sum of the entries')
    await tables.run(`UPDATE openings SET balance = balance - 1 WHERE account_id = 'ann'`)
    await tables.run(`UPDATE key_openings SET spent = spent + 1 WHERE key_id = 'ben-1'`)
    expect((await books.verify()).problem?.table).toBe('accounts')
    await tables.run(`UPDATE key_openings SET spent = spent - 1 WHERE key_id = 'ben-1'`)
    await tables.run(`DELETE FROM entries WHERE account_id = 'ann' AND at < ?`, at(2031, 2, 1) + 20 * DAY_MS)
    expect((await books.verify()).problem?.table).toBe('entries')
  })

  test('is told by the clock of the server: one of a replica that goes wrong drops nothing', async () => {
    const now = Date.now()
    const books = await Books.open({ accounts: ['ann', 'ben'], keys: 2, balance: 1_000_000n, at: now })
    await calls(books, now)
    const store = await openAt(books.url, { retentionMonths: 1 })
    setSystemTime(now + 62 * DAY_MS)
    try {
      expect(await store.upkeep?.keepUp()).toEqual([])
    } finally {
      setSystemTime()
    }
    expect(await books.verify()).toMatchObject({ problem: undefined, usage: 9, charges: 9 })
  })

  test('may go while others spend', async () => {
    const books = await threeMonths()
    let isOver = false
    const spending = (async () => {
      while (!isOver) await calls(books, at(2031, 3, 25), 1)
    })()
    const done = await partitionsAt(books, at(2031, 3), 1).keepUp()
    isOver = true
    await spending
    expect(done).toContain('dropped usage_2031_01')
    expect((await books.verify()).problem).toBeUndefined()
  })
})
