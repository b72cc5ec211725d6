import { beforeAll, describe, expect, test } from 'bun:test'
import { nanos } from '../../src/core/money.ts'
import type { SummaryDimension, UsageFilter } from '../../src/core/records.ts'
import type { Store } from '../../src/core/store.ts'
import { verify } from '../../src/ledger/verify.ts'
import { deposit, keyOf, NOW, newAccount, newId, type Stores, spend, useStores } from './stage.ts'

const openStores = useStores()

const HOUR_MS = 3_600_000
const ROWS = 120

interface Written {
  readonly requestId: string
  readonly accountId: string
  readonly keyId: string
  readonly model: string
  readonly channel: string
  readonly status: string
  readonly at: number
  readonly input: number
}

let stores: Stores
let store: Store
const accounts: string[] = []
const keys: string[] = []
/** In the order of writing. Two begin in each millisecond that has any; they are months apart, and an hour, and a second. */
const written: Written[] = []

beforeAll(async () => {
  stores = await openStores()
  store = stores.store
  for (let count = 0; count < 2; count++) {
    const { id } = await newAccount(store)
    await deposit(store, id)
    accounts.push(id)
    for (const key of [keyOf(id), keyOf(id)]) {
      await store.directory.createKey(key)
      keys.push(key.id)
    }
  }
  for (let i = 0; i < ROWS; i++) {
    const [keyId = '', accountId = ''] = [keys[i % 4], accounts[Math.trunc((i % 4) / 2)]]
    const status = i % 7 === 3 ? 'upstream_error' : i % 25 === 1 ? 'client_gone' : 'ok'
    const at = NOW - (i % 3) * 40 * 24 * HOUR_MS + Math.trunc(i / 2) * 20 * 60_000
    const row = { requestId: newId('request'), accountId, keyId, status, at, input: status === 'ok' ? i : 0 }
    written.push({ ...row, model: `model ${i % 5}`, channel: i % 2 ? 'main' : 'spare' })
  }
  for (const row of written) await spend(store, { ...row, durationMs: 1_000 + row.input })
})

const matches = (row: Written, filter: UsageFilter): boolean =>
  (filter.accountId === undefined || row.accountId === filter.accountId) &&
  (filter.keyId === undefined || row.keyId === filter.keyId) &&
  (filter.model === undefined || row.model === filter.model) &&
  (filter.channel === undefined || row.channel === filter.channel) &&
  (filter.status === undefined || (filter.status === 'error' ? row.status !== 'ok' : row.status === filter.status)) &&
  row.at >= (filter.from ?? 0) &&
  row.at < (filter.to ?? Number.MAX_SAFE_INTEGER)

const FILTERS: [name: string, filter: () => UsageFilter][] = [
  ['nothing', () => ({})],
  ['account', () => ({ accountId: accounts[0] ?? '' })],
  ['key', () => ({ keyId: keys[3] ?? '' })],
  ['model', () => ({ model: 'model 2' })],
  ['failures', () => ({ status: 'error' })],
  ['status', () => ({ status: 'client_gone' })],
  ['what went well', () => ({ status: 'ok' })],
  ['channel and protocol', () => ({ channel: 'spare', protocol: 'chat' })],
  ['account, model and failures', () => ({ accountId: accounts[1] ?? '', model: 'model 2', status: 'error' })],
  ['key and channel', () => ({ keyId: keys[0] ?? '', channel: 'spare' })],
  ['time', () => ({ from: NOW - 30 * 24 * HOUR_MS, to: NOW + 5 * HOUR_MS })],
  ['account and time', () => ({ accountId: accounts[0] ?? '', to: NOW - 20 * 24 * HOUR_MS })],
  ['nobody', () => ({ accountId: 'nobody' })],
]

describe('usage', () => {
  for (const [name, filterOf] of FILTERS) {
    test(`by ${name} is listed newest first, page by page`, async () => {
      const filter = filterOf()
      const ids: string[] = []
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
        const { rows, next } = await store.records.usage({ ...filter, cursor, limit: 7 })
        ids.push(...rows.map(({ requestId }) => requestId))
        cursor = next
      }
      const expected = written
        .map((row, place) => ({ ...row, place }))
        .filter(row => matches(row, filter))
        .sort((a, b) => b.at - a.at || b.place - a.place)
      expect(ids).toEqual(expected.map(({ requestId }) => requestId))
    })
  }

  test('of one request comes with its price and its charge', async () => {
    const row = written.find(({ status, input }) => status === 'ok' && input > 0)
    const receipt = await store.records.receipt(row?.requestId ?? '')
    expect(receipt?.row).toMatchObject({ requestId: row?.requestId, cost: nanos(BigInt(row?.input ?? 0) * 1_000n) })
    expect(receipt?.entry).toMatchObject({ kind: 'charge', amount: nanos(-BigInt(row?.input ?? 0) * 1_000n) })
    expect(receipt?.price).toMatchObject({ model: row?.model, version: 1 })
    expect(await store.records.receipt('none')).toBeUndefined()
  })

  test('entries of an account are listed newest first, page by page', async () => {
    const [accountId = ''] = accounts
    const seqs: number[] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
      const { rows, next } = await store.records.entries(accountId, { cursor, limit: 9 })
      seqs.push(...rows.map(({ seq }) => seq))
      cursor = next
    }
    const charges = written.filter(row => row.accountId === accountId && row.input > 0).length
    expect(seqs).toEqual(Array.from({ length: charges + 1 }, (_, place) => charges + 1 - place))
  })
})

describe('a summary', () => {
  const DIMENSIONS: [by: SummaryDimension[], nameOf: (row: Written) => unknown[]][] = [
    [[], () => []],
    [['account'], row => [row.accountId]],
    [['key', 'model'], row => [row.keyId, row.model]],
    [['hour'], row => [Math.floor(row.at / HOUR_MS) * HOUR_MS]],
    [['day', 'status'], row => [Math.floor(row.at / (24 * HOUR_MS)) * 24 * HOUR_MS, row.status]],
    [['channel', 'protocol'], row => [row.channel, 'chat']],
  ]
  const SUMMARY_FILTERS = FILTERS.filter(([name]) => !name.includes('time'))

  for (const [by, nameOf] of DIMENSIONS) {
    test(`by ${by.join(' and ') || 'nothing'} adds up what the records say, whatever the filter`, async () => {
      for (const [, filterOf] of SUMMARY_FILTERS) {
        const filter = filterOf()
        const groups = Map.groupBy(
          written.filter(row => matches(row, filter)),
          row => JSON.stringify(nameOf(row)),
        )
        const rows = await store.records.summary(by, filter, 1_000)
        expect(
          new Map(
            rows.map(row => [
              JSON.stringify(Object.values(row.by)),
              [row.requests, row.errors, row.usage.input, row.cost],
            ]),
          ),
        ).toEqual(
          new Map(
            [...groups].map(([name, group]) => {
              const input = group.reduce((sum, row) => sum + row.input, 0)
              const errors = group.filter(({ status }) => status !== 'ok').length
              return [name, [group.length, errors, input, nanos(BigInt(input) * 1_000n)]]
            }),
          ),
        )
      }
    })
  }

  test('has times as they passed, what cost most first, and no more rows than anyone wants', async () => {
    const hours = await store.records.summary(['hour'], {}, 1_000)
    const times = hours.map(({ by }) => Number(by.hour))
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    const keys = await store.records.summary(['key', 'model'], {}, 1_000)
    const costs = keys.map(({ cost }) => cost)
    expect(costs).toEqual(costs.toSorted((a, b) => Number(b - a)))
    expect((await store.records.summary(['key', 'model'], {}, 5)).length).toBeGreaterThan(5)
    expect((await store.records.summary(['key', 'model'], {}, 5)).length).toBeLessThanOrEqual(keys.length)
  })

  test('of a time is that of whole hours', async () => {
    const filter = { from: NOW, to: NOW + 4 * HOUR_MS }
    const [sums] = await store.records.summary([], { ...filter, accountId: accounts[0] ?? '' }, 10)
    const expected = written.filter(row => matches(row, { ...filter, accountId: accounts[0] ?? '' }))
    expect(sums?.requests).toBe(expected.length)
  })
})

describe('latency', () => {
  test('is that of the latest answers, by what is asked for', async () => {
    for (const [, filterOf] of FILTERS.filter(([name]) => !/status|failures|well/.test(name))) {
      const filter = filterOf()
      const answered = written.filter(row => matches(row, { ...filter, status: 'ok' }))
      const { sample, duration, firstByte } = await store.records.latency(filter, 1_000)
      expect(sample).toBe(answered.length)
      expect(firstByte).toEqual(sample === 0 ? undefined : { p50: 50, p95: 50 })
      expect(duration === undefined).toBe(sample === 0)
    }
  })
})

describe('what was written since the last look', () => {
  test('is there once, whatever is written meanwhile, and by whomever', async () => {
    const [accountId = '', keyId = ''] = [accounts[0], keys[0]]
    const [neighbour = '', other = ''] = [accounts[1], keys[2]]
    let place = await store.records.usagePlace()
    const ids: string[] = []
    const writing = Promise.all(
      Array.from({ length: 120 }, (_, i) =>
        spend(
          i % 2 ? stores.store : stores.other,
          i % 3 ? { accountId, keyId } : { accountId: neighbour, keyId: other },
        ),
      ),
    )
    let isOver = false
    void writing.finally(() => {
      isOver = true
    })
    for (let isLast = false; !isLast; ) {
      isLast = isOver
      const news = await store.records.usageSince(place, {}, 1_000)
      place = news.place
      ids.push(...news.rows.map(({ requestId }) => requestId))
      await Bun.sleep(1)
    }
    expect(ids.toSorted()).toEqual((await writing).toSorted())
    expect((await store.records.usageSince(place, {}, 10)).rows).toEqual([])
  })

  test('is that of one account, and the newest where there is more than asked for', async () => {
    const place = await store.records.usagePlace()
    const [accountId = '', neighbour = ''] = accounts
    const mine: string[] = []
    for (let i = 0; i < 6; i++) {
      mine.push(await spend(store, { accountId, keyId: keys[0] ?? '' }))
      await spend(store, { accountId: neighbour, keyId: keys[2] ?? '' })
    }
    const { rows } = await store.records.usageSince(place, { accountId }, 4)
    expect(rows.map(({ requestId }) => requestId)).toEqual(mine.slice(-4))
  })
})

describe('the audit', () => {
  test('finds nothing wrong, also while money is spent, by several', async () => {
    const [accountId = '', keyId = ''] = [accounts[0], keys[0]]
    const writing = Promise.all(
      Array.from({ length: 60 }, (_, i) => spend(i % 2 ? stores.store : stores.other, { accountId, keyId })),
    )
    for (let round = 0; round < 3; round++) expect((await verify(store.audit)).problem).toBeUndefined()
    await writing
    const found = await verify(store.audit)
    expect(found.problem).toBeUndefined()
    expect([found.accounts, found.openHolds]).toEqual([2, 0])
    const { rows, holds } = await store.audit.size()
    expect([rows, holds]).toEqual([found.entries + found.usage, 0])
  })

  test('tells slices that fit together, however small they are', async () => {
    const ids: number[] = []
    for (let last = 0; ; ) {
      const { rows, sums } = await store.audit.usageAfter(last, 7)
      ids.push(...rows.map(({ id }) => id))
      last = ids.at(-1) ?? 0
      if (!sums) continue
      expect([...sums.keys()].sort()).toEqual(accounts.toSorted())
      expect([...sums.values()].reduce((sum, { requests }) => sum + requests, 0)).toBe(ids.length)
      break
    }
    expect(new Set(ids).size).toBe(ids.length)
    const [accountId = ''] = accounts
    let seq = 0
    for (let isLast = false; !isLast; ) {
      const slice = await store.audit.entriesAfter(accountId, seq, 7)
      for (const entry of slice.entries) expect(entry.seq).toBe(++seq)
      isLast = slice.isLast
      if (isLast) expect(slice.claims?.entries).toBe(seq)
    }
    expect(await store.audit.accountIds()).toEqual(accounts.toSorted())
    expect((await store.audit.entriesAfter('nobody', 0, 7)).claims).toBeUndefined()
  })
})
