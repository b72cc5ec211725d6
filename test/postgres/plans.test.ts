import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { UsageFilter } from '../../src/core/records.ts'
import type { Value } from '../../src/store/database.ts'
import { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { Partitions } from '../../src/store/postgres/partitions.ts'
import { SqlRecords } from '../../src/store/records.ts'
import { databaseOf } from '../support/databases.ts'
import { newFolder } from '../support/duet.ts'
import { questionsWith } from '../support/usage-questions.ts'

/**
 * What a page costs must not depend on how many records there are. Three months of them, in few enough rows for a test: it is
 * not the time that is looked at, but whether the database reads a month from end to end.
 */
const ROWS = 120_000
const START = Date.UTC(2026, 7, 1)
const STEP_MS = (89 * 86_400_000) / ROWS
const LAST_DAY = Date.UTC(2026, 6, 31) / 86_400_000
const FILL_MS_MAX = 60_000
const [ACCOUNTS, KEYS, MODELS] = [20, 200, 15]

/** Says of every question how the database answers it. */
class ExplainedDatabase extends PostgresDatabase {
  plans: string[] | undefined

  override async get<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    await this.explain(sql, values)
    return super.get<Row>(sql, ...values)
  }

  override async all<Row>(sql: string, ...values: Value[]): Promise<readonly Row[]> {
    await this.explain(sql, values)
    return super.all<Row>(sql, ...values)
  }

  private async explain(sql: string, values: Value[]): Promise<void> {
    if (!this.plans) return
    const steps = await super.all<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, ...values)
    this.plans.push(...steps.map(step => step['QUERY PLAN']))
  }
}

let db: ExplainedDatabase
let records: SqlRecords

beforeAll(async () => {
  db = new ExplainedDatabase({ url: await databaseOf(newFolder()), connections: 2, answerMsMax: FILL_MS_MAX })
  await new Partitions(db, {}).make(START, Date.UTC(2026, 10, 1))
  await fill()
  records = new SqlRecords(db)
}, FILL_MS_MAX)
afterAll(() => db.close())

async function fill(): Promise<void> {
  await db.script(`
    INSERT INTO usage (request_id, account_id, key_id, model, channel, protocol, upstream_protocol, stream, status, input,
                       cache_read, cache_write, output, reasoning, source, cost, held, started_at, first_byte_ms, duration_ms)
    SELECT 'request' || lpad(i::TEXT, 9, '0'), 'acc_' || (i * 7919 + i / 13) % ${ACCOUNTS},
           'key_' || (i * 7919 + i / 13) % ${KEYS}, 'acme/model-' || (i * 31 + i / 7) % ${MODELS}, 'main', 'chat', 'chat', i % 2,
           CASE WHEN (i * 17 + i / 11) % 50 <> 0 THEN 'ok' WHEN i / 3 % 2 = 0 THEN 'client_gone' ELSE 'upstream_error' END,
           i % 1000, 0, 0, i % 300, 0, 'upstream', i % 5000, 10000, ${START} + CAST(i * ${STEP_MS} AS BIGINT), 50, 900
    FROM generate_series(CAST(0 AS BIGINT), ${ROWS - 1}) AS i;
    INSERT INTO usage_hours SELECT hour, 'acc_1', 'key_1', 'acme/model-1', 'main', 'chat', 'ok', 1, 0, 0, 0, 0, 0, 0
    FROM unnest(ARRAY[${START} / 3600000, (${START} + CAST(${ROWS * STEP_MS} AS BIGINT)) / 3600000]) AS hour;
    INSERT INTO usage_days
    SELECT day, 'acc_' || key % ${ACCOUNTS}, 'key_' || key, 'acme/model-1', 'main', 'chat', 'ok', 1, 0, 0, 0, 0, 0, 1
    FROM generate_series(${LAST_DAY - 119}, ${LAST_DAY}) AS day, generate_series(1, ${KEYS}) AS key;
    INSERT INTO entries (account_id, seq, kind, amount, balance, source, key_id, at, hash)
    SELECT 'acc_' || i % ${ACCOUNTS}, i / ${ACCOUNTS} + 1, 'charge', -1, 0, 'request' || lpad(i::TEXT, 9, '0'), 'key_1',
           ${START} + CAST(i * ${STEP_MS} AS BIGINT), ''
    FROM generate_series(CAST(0 AS BIGINT), ${ROWS - 1}) AS i;
    ANALYZE;
  `)
}

/** What it takes to answer, without what is done to tables that have no rows. */
async function plansOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const plans: string[] = []
  db.plans = plans
  await work().finally(() => {
    db.plans = undefined
  })
  expect(plans.join('\n')).toMatch(/Index (Only )?Scan.* on (usage|entries)_(2026_(08|09|10)|days)/)
  return plans
}

const READS_ALL = /Seq Scan on (usage|entries)_(2026_(08|09|10)|days)/

const FROM = START + 20 * 86_400_000
const TO = START + 70 * 86_400_000
const SINGLE: Readonly<Record<string, UsageFilter>> = {
  account: { accountId: 'acc_7' },
  key: { keyId: 'key_107' },
  model: { model: 'acme/model-4' },
  'status ok': { status: 'ok' },
  'status error': { status: 'error' },
  'one status': { status: 'client_gone' },
  from: { from: FROM },
  to: { to: TO },
}

describe('a page of usage records', () => {
  for (const [title, filter] of questionsWith(SINGLE)) {
    test(`by ${title} comes from an index`, async () => {
      const plans = await plansOf(async () => {
        const { next, rows } = await records.usage({ ...filter, cursor: undefined, limit: 50 })
        expect(rows.length).toBeGreaterThan(0)
        await records.usage({ ...filter, cursor: next, limit: 50 })
        await records.usage({ ...filter, to: START + 45 * 86_400_000, cursor: undefined, limit: 50 })
      })
      expect(plans.filter(plan => READS_ALL.test(plan))).toEqual([])
    })
  }
})

describe('from indices come as well', () => {
  const ASKED: Readonly<Record<string, () => Promise<unknown>>> = {
    'one request': () => records.receipt('request000054321'),
    'entries of an account': async () => {
      const { next } = await records.entries('acc_3', { cursor: undefined, limit: 50 })
      await records.entries('acc_3', { cursor: next, limit: 50 })
      await records.entries('acc_3', { cursor: '51', limit: 50 })
    },
    'how long the latest took': () => records.latency({}, 1_000),
    'how long the latest of an account took': () => records.latency({ accountId: 'acc_7', from: FROM }, 1_000),
    'a month of all accounts out of four': async () => {
      const month = { from: (LAST_DAY - 29) * 86_400_000, to: (LAST_DAY + 1) * 86_400_000 }
      expect(await records.summary(['day', 'model'], month, 1_000)).toHaveLength(30)
    },
    'what was written since the last look': async () => {
      const place = await records.usagePlace()
      expect((await records.usageSince(place - 50, {}, 100)).rows).toHaveLength(50)
    },
  }
  for (const [what, ask] of Object.entries(ASKED)) {
    test(what, async () => {
      expect((await plansOf(ask)).filter(plan => READS_ALL.test(plan))).toEqual([])
    })
  }
})
