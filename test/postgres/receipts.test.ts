import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newRequestId, timeOfRequest } from '../../src/core/ids.ts'
import type { Value } from '../../src/store/database.ts'
import { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { Partitions } from '../../src/store/postgres/partitions.ts'
import { SqlRecords } from '../../src/store/records.ts'
import { Books, closeAfterAll } from './books.ts'

closeAfterAll()

/** A receipt is asked for by the id of its request alone, and there is a table for each month. */

const MONTH = /(?:usage|entries)_\d{4}_\d{2}/g
const at = (year: number, month: number) => Date.UTC(year, month - 1, 10)

/** Keeps in mind which months it was asked about. */
class WatchedDatabase extends PostgresDatabase {
  readonly months = new Set<string>()

  override async get<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    const steps = await super.all<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, ...values)
    for (const step of steps) for (const month of step['QUERY PLAN'].match(MONTH) ?? []) this.months.add(month)
    return super.get<Row>(sql, ...values)
  }
}

let books: Books
let db: WatchedDatabase
let records: SqlRecords

beforeAll(async () => {
  books = await Books.open({ accounts: ['ann'], keys: 1, balance: 1_000_000n, at: at(2023, 1) })
  await new Partitions(books.tables, {}).make(at(2023, 1), at(2026, 11))
  db = new WatchedDatabase({ url: books.url, connections: 1 })
  records = new SqlRecords(db)
}, 60_000)
afterAll(() => db.close())

/** Returns what was found, and the months that were looked at. */
async function receiptOf(requestId: string) {
  db.months.clear()
  const receipt = await records.receipt(requestId)
  return { id: receipt?.row.requestId, entry: receipt?.entry?.source, months: [...db.months].sort() }
}

async function call(requestId: string, startedAt: number): Promise<string> {
  await books.store.ledger.commit([books.hold(requestId, 'ann-1', { most: 5n, at: startedAt })])
  await books.store.ledger.commit([books.settle(requestId, 'ann-1', 5n, { startedAt })])
  return requestId
}

test('an id says when its request came', () => {
  for (const time of [0, 1, at(2026, 11) + 123, at(2140, 1)]) expect(timeOfRequest(newRequestId(time))).toBe(time)
  for (const id of ['', 'request-1', 'short', 'a'.repeat(23), 'A'.repeat(24), 'a'.repeat(25)]) {
    expect(timeOfRequest(id)).toBeUndefined()
  }
})

describe('a receipt', () => {
  test('is looked for in the month of its request', async () => {
    const id = await call(newRequestId(at(2024, 6)), at(2024, 6))
    expect(await receiptOf(id)).toEqual({ id, entry: id, months: ['entries_2024_06', 'usage_2024_06'] })
  })

  test('is found under an id that says nothing, and under one that says something else', async () => {
    for (const id of ['an-id-of-long-ago', newRequestId(at(2026, 1))]) {
      await call(id, at(2023, 2))
      expect(await receiptOf(id)).toMatchObject({ id, entry: id })
    }
  })

  test('that nobody has is not there', async () => {
    expect((await receiptOf('nobody')).id).toBeUndefined()
    expect((await receiptOf(newRequestId(at(2025, 1)))).id).toBeUndefined()
  })

  test('of a request whose month has no table is found as well', async () => {
    const id = await call(newRequestId(at(2040, 1)), at(2040, 1))
    expect(await receiptOf(id)).toEqual({ id, entry: id, months: [] })
  })
})
