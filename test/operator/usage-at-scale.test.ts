import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Latency, UsageFilter } from '../../src/core/records.ts'
import type { Value } from '../../src/store/database.ts'
import { SqlRecords } from '../../src/store/records.ts'
import { EmbeddedDatabase } from '../../src/store/sqlite/database.ts'
import { STORE } from '../support/databases.ts'
import { newFolder } from '../support/duet.ts'
import { questionsWith, type UsageQuestion } from '../support/usage-questions.ts'

const ROWS = 1_000_000
const ACCOUNTS = 20
const KEYS = 200
const MODELS = 15
const START = Date.UTC(2026, 7, 1)
/** Three requests begin in each of these, over 90 days, so that pages are cut between requests of one millisecond too. */
const STEP_MS = 23_328

/**
 * Row `i` in SQL and in TypeScript: the table is filled by the one, and pages are compared with what the other says.
 * Integer division, primes that share no factor, and no randomness: a failure can be looked at again.
 */
const SQL = {
  key: `(i * 7919 + i / 13) % ${KEYS}`,
  model: `iif(i % 250000 = 7, 'acme/rare', printf('acme/model-%d', (i * 31 + i / 7) % ${MODELS}))`,
  isFailure: '(i * 17 + i / 11) % 50 = 0',
  failure: `iif(i / 3 % 2, 'upstream_error', 'client_gone')`,
  at: `${START} + i / 3 * ${STEP_MS}`,
  firstByte: 'iif(i % 4, 50 + i % 500, NULL)',
} as const

const whole = Math.trunc
const names = (count: number, name: (number: number) => string) => Array.from({ length: count }, (_, i) => name(i))
const ACCOUNT_IDS = names(ACCOUNTS, number => `acc_${String(number).padStart(3, '0')}`)
const KEY_IDS = names(KEYS, number => `key_${String(number).padStart(3, '0')}`)
const MODEL_IDS = names(MODELS, number => `acme/model-${number}`)

const keyNumber = (i: number) => (i * 7919 + whole(i / 13)) % KEYS
const keyOf = (i: number) => KEY_IDS[keyNumber(i)]
const accountOf = (i: number) => ACCOUNT_IDS[keyNumber(i) % ACCOUNTS]
const modelOf = (i: number) => (i % 250_000 === 7 ? 'acme/rare' : MODEL_IDS[(i * 31 + whole(i / 7)) % MODELS])
const failureOf = (i: number) => (whole(i / 3) % 2 ? 'upstream_error' : 'client_gone')
const statusOf = (i: number) => ((i * 17 + whole(i / 11)) % 50 === 0 ? failureOf(i) : 'ok')
const startOf = (i: number) => START + whole(i / 3) * STEP_MS
const durationOf = (i: number) => 900 + (i % 1_000)
const firstByteOf = (i: number) => (i % 4 === 0 ? [] : [50 + (i % 500)])
const requestId = (i: number) => `request${String(i).padStart(9, '0')}`

/** Says of every question how the database answers it. */
class ExplainedDatabase extends EmbeddedDatabase {
  plans: string[] | undefined

  override first<Row>(sql: string, ...values: Value[]): Row | undefined {
    this.explain(sql, values)
    return super.first(sql, ...values)
  }

  override rows<Row>(sql: string, ...values: Value[]): Row[] {
    this.explain(sql, values)
    return super.rows(sql, ...values)
  }

  private explain(sql: string, values: Value[]): void {
    if (!this.plans) return
    const steps = super.rows<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)
    this.plans.push(...steps.map(({ detail }) => detail))
  }
}

const folder = newFolder()
let db: ExplainedDatabase
let records: SqlRecords
let slowest = { ms: 0, question: '' }

/** The plans of this database, and what it does without giving way; those of the other are in `test/postgres/plans`. */
const embedded = describe.if(STORE === 'sqlite')

beforeAll(() => {
  if (STORE !== 'sqlite') return
  const options = { path: join(folder, 'duet.db'), durability: 'process' } as const
  new EmbeddedDatabase(options).close()
  fill(options.path)
  db = new ExplainedDatabase(options)
  records = new SqlRecords(db)
}, 180_000)

afterAll(() => {
  if (STORE !== 'sqlite') return
  db.close()
  // Half a gigabyte: nobody should have to wait for the end of all tests to have it back.
  rmSync(folder, { recursive: true })
  console.log(`the slowest of all pages took ${slowest.ms.toFixed(1)} ms: ${slowest.question}`)
})

/** As fast as it goes: without a log, and with indices made after the rows, as they would have become. */
function fill(path: string): void {
  const file = new Database(path)
  file.run('PRAGMA journal_mode = OFF')
  file.run('PRAGMA synchronous = OFF')
  const indices = file
    .query<{ name: string; sql: string }, []>(
      `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name IN ('usage', 'entries') AND sql IS NOT NULL`,
    )
    .all()
  const numbers = (count: number) =>
    `WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count - 1})`
  file.run(`
    BEGIN;
    ${indices.map(({ name }) => `DROP INDEX ${name};`).join('')}
    INSERT INTO accounts (id, name, grp, created_at) ${numbers(ACCOUNTS)}
      SELECT printf('acc_%03d', i), printf('account %d', i), 'default', 0 FROM numbers;
    INSERT INTO keys (id, account_id, name, secret_hash, hint, created_at) ${numbers(KEYS)}
      SELECT printf('key_%03d', i), printf('acc_%03d', i % ${ACCOUNTS}), 'a key', printf('hash %d', i), '', 0 FROM numbers;
    INSERT INTO usage ${numbers(ROWS)}
      SELECT i + 1, printf('request%09d', i), printf('acc_%03d', ${SQL.key} % ${ACCOUNTS}), printf('key_%03d', ${SQL.key}),
             ${SQL.model}, 'main', 'chat', 'chat', i % 2, iif(${SQL.isFailure}, ${SQL.failure}, 'ok'), NULL,
             i % 1000, 0, 0, i % 300, 0, 'upstream', NULL, i % 5000, 10000, ${SQL.at}, ${SQL.firstByte}, 900 + i % 1000,
             NULL, NULL, NULL
      FROM numbers;
    INSERT INTO usage_hours
      SELECT started_at / 3600000, account_id, key_id, model, channel, protocol, status, count(*), sum(input),
             sum(cache_read), sum(cache_write), sum(output), sum(reasoning), sum(cost)
      FROM usage GROUP BY 1, 2, 3, 4, 5, 6, 7;
    INSERT INTO entries ${numbers(ROWS)}
      SELECT printf('acc_%03d', i % ${ACCOUNTS}), i / ${ACCOUNTS} + 1, 'charge', -1, -(i / ${ACCOUNTS} + 1),
             printf('request%09d', i), printf('key_%03d', i % ${ACCOUNTS}), NULL, ${SQL.at},
             i % 1000, 0, 0, i % 300, NULL, printf('%064d', i)
      FROM numbers;
    ${indices.map(({ sql }) => `${sql};`).join('')}
    COMMIT;
  `)
  file.close()
}

/** The numbers of the rows that a filter lets through, newest first. */
function expectedRows({ accountId, keyId, model, status, from = 0, to = Number.POSITIVE_INFINITY }: UsageFilter) {
  const rows: number[] = []
  for (let i = ROWS - 1; i >= 0; i--) {
    if (keyId !== undefined && keyId !== keyOf(i)) continue
    if (accountId !== undefined && accountId !== accountOf(i)) continue
    if (model !== undefined && model !== modelOf(i)) continue
    if (status === 'error' ? statusOf(i) === 'ok' : status !== undefined && status !== statusOf(i)) continue
    if (startOf(i) >= from && startOf(i) < to) rows.push(i)
  }
  return rows
}

async function page(request: UsageFilter & { cursor?: string | undefined; limit?: number }) {
  const began = performance.now()
  const { rows, next } = await records.usage({ cursor: undefined, limit: 50, ...request })
  const ms = performance.now() - began
  if (ms > slowest.ms) slowest = { ms, question: JSON.stringify(request) }
  return { ids: rows.map(row => row.requestId), next }
}

async function plansOf(work: () => Promise<unknown>): Promise<string[]> {
  const plans: string[] = []
  db.plans = plans
  await work().finally(() => {
    db.plans = undefined
  })
  return plans
}

const UNINDEXED = /USE TEMP B-TREE|SCAN (?!.*USING (COVERING )?INDEX)/

const FROM = START + 20 * 86_400_000
const TO = START + 70 * 86_400_000 + 12_345
/** Account 7 has key 107, so that the two together are a question with an answer. */
const SINGLE: Readonly<Record<string, UsageFilter>> = {
  account: { accountId: 'acc_007' },
  key: { keyId: 'key_107' },
  model: { model: 'acme/model-4' },
  'status ok': { status: 'ok' },
  'status error': { status: 'error' },
  'one status': { status: 'client_gone' },
  from: { from: FROM },
  to: { to: TO },
}

const QUESTIONS: readonly UsageQuestion[] = [
  ...questionsWith(SINGLE),
  ['everything', { ...SINGLE.account, ...SINGLE.key, ...SINGLE.model, status: 'ok', from: FROM, to: TO }],
]

embedded(`a page of ${ROWS.toLocaleString('en')} usage records`, () => {
  for (const [title, filter] of QUESTIONS) {
    test(`by ${title} is right at the top, deep inside and at the end`, async () => {
      const expected = expectedRows(filter)
      const idsFrom = (place: number) => expected.slice(place, place + 50).map(requestId)
      const timeAt = (place: number) => startOf(expected.at(place) ?? Number.NaN)
      expect((await page(filter)).ids).toEqual(idsFrom(0))

      // To the middle without walking there: a page that begins at the time of its row, and another that goes on from it.
      const middle = whole(expected.length / 2)
      const { ids, next } = await page({ ...filter, to: timeAt(middle) + 1, limit: 1 })
      const place = expected.findIndex(row => startOf(row) <= timeAt(middle))
      expect(ids).toEqual([requestId(expected[place] ?? Number.NaN)])
      expect((await page({ ...filter, cursor: next })).ids).toEqual(idsFrom(place + 1))

      const last = await page({ ...filter, to: timeAt(-1) + 1 })
      expect({ id: last.ids.at(-1), next: last.next }).toEqual({ id: idsFrom(expected.length - 1)[0], next: undefined })
    })

    test(`by ${title} comes from an index, in its order`, async () => {
      const plans = await plansOf(async () => {
        const { next } = await page({ ...filter, to: Math.min(filter.to ?? TO, START + 45 * 86_400_000) })
        await page({ ...filter, cursor: next })
      })
      expect(plans.length).toBeGreaterThan(0)
      expect(plans.filter(plan => UNINDEXED.test(plan))).toEqual([])
    })
  }

  test('follows on the one before, through requests of one millisecond, until all were there once', async () => {
    const filter = { keyId: 'key_107', from: FROM, to: TO }
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { ids, next } = await page({ ...filter, cursor, limit: 97 })
      seen.push(...ids)
      cursor = next
    } while (cursor)
    expect(seen).toEqual(expectedRows(filter).map(requestId))
    expect(seen.length).toBeGreaterThan(2_000)
  })

  test('of a filter that has few rows comes from its index, whatever else is asked', async () => {
    const account = { accountId: accountOf(7) ?? '' }
    const plans = await plansOf(async () => {
      const { ids, next } = await page({ ...account, model: 'acme/rare' })
      expect(ids).toContain(requestId(7))
      expect({ ids, next }).toEqual({
        ids: expectedRows({ ...account, model: 'acme/rare' }).map(requestId),
        next: undefined,
      })
    })
    expect(plans.at(-1)).toContain('usage_by_model')
  })

  test('whose filters refuse everything is right, and lets other work have its turn', async () => {
    // The key of another account: all of its requests are passed over, in slices.
    const key = { keyId: keyOf(8) ?? '' }
    const slices = whole(expectedRows(key).length / 1_000)
    let turns = 0
    let isOver = false
    const takeTurn = () => {
      turns++
      if (!isOver) setImmediate(takeTurn)
    }
    setImmediate(takeTurn)
    const { ids, next } = await page({ ...key, accountId: accountOf(7) ?? '' })
    isOver = true
    expect({ ids, next }).toEqual({ ids: [], next: undefined })
    expect(slices).toBeGreaterThanOrEqual(4)
    expect(turns).toBeGreaterThanOrEqual(slices - 1)
  })
})

embedded(`how long the latest of ${ROWS.toLocaleString('en')} requests took`, () => {
  const SAMPLE_MAX = 5_000

  /** The smallest value that so many percent of all do not exceed. */
  function percentile(values: readonly number[], percent: number): number | undefined {
    return values.toSorted((a, b) => a - b).find((_, place) => (place + 1) * 100 >= percent * values.length)
  }

  const percentiles = (values: readonly number[]) => ({ p50: percentile(values, 50), p95: percentile(values, 95) })

  for (const title of ['nothing', 'account', 'key', 'model', 'from', 'account and from', 'model and to']) {
    test(`by ${title} is measured on those that were answered, and read from an index`, async () => {
      const filter = QUESTIONS.find(([name]) => name === title)?.[1]
      if (!filter) throw new Error(`there is no question by ${title}`)
      const latest = expectedRows(filter).slice(0, SAMPLE_MAX)
      const answered = latest.filter(row => statusOf(row) === 'ok')
      const plans = await plansOf(async () => {
        expect(await records.latency(filter, SAMPLE_MAX)).toEqual({
          sample: answered.length,
          duration: percentiles(answered.map(durationOf)),
          firstByte: percentiles(answered.flatMap(firstByteOf)),
        } as Latency)
      })
      // The sample itself is read from its beginning to its end.
      expect(plans.filter(plan => UNINDEXED.test(plan) && plan !== 'SCAN latest')).toEqual([])
    })
  }

  test('of nothing is nothing', async () => {
    expect(await records.latency({ accountId: 'acc_none' }, SAMPLE_MAX)).toEqual({
      ...{ sample: 0, duration: undefined, firstByte: undefined },
    })
  })
})

embedded(`among ${ROWS.toLocaleString('en')} rows`, () => {
  test('those that were written since the last look are found without the others', async () => {
    const place = await records.usagePlace()
    expect(place).toBe(ROWS)
    const plans = await plansOf(async () => {
      const { rows } = await records.usageSince(place - 300, { accountId: 'acc_003' }, 100)
      const expected = expectedRows({ accountId: 'acc_003' }).filter(row => row >= ROWS - 300)
      expect(rows.map(row => row.requestId)).toEqual(expected.toReversed().map(requestId))
    })
    // By the number of the row, which is the table's own order.
    expect(plans.filter(plan => plan.includes('usage'))).toContain(
      'SEARCH usage USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    )
    const newest = await records.usageSince(place - 300, {}, 100)
    expect(newest.rows.map(row => row.requestId)).toEqual(
      Array.from({ length: 100 }, (_, i) => requestId(ROWS - 100 + i)),
    )
  })

  test('one request is found by its id', async () => {
    const plans = await plansOf(async () => {
      const receipt = await records.receipt(requestId(654_321))
      expect(receipt?.row).toMatchObject({ keyId: keyOf(654_321) ?? '', startedAt: startOf(654_321) })
    })
    expect(plans.filter(plan => UNINDEXED.test(plan))).toEqual([])
  })

  test("an account's entries come in pages, the deepest like the first", async () => {
    const entries = ROWS / ACCOUNTS
    const seqs = async (cursor: string | undefined) => {
      const found = await records.entries('acc_003', { cursor, limit: 50 })
      return { first: found.rows[0]?.seq, count: found.rows.length, next: found.next }
    }
    const plans = await plansOf(async () => {
      expect(await seqs(undefined)).toEqual({ first: entries, count: 50, next: String(entries - 49) })
      expect(await seqs('25001')).toEqual({ first: 25_000, count: 50, next: '24951' })
      expect(await seqs('51')).toEqual({ first: 50, count: 50, next: undefined })
    })
    expect(plans.filter(plan => UNINDEXED.test(plan))).toEqual([])
  })
})
