import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Closing, HeldCall } from '../../src/core/ledger.ts'
import { dollars, nanos, pricePerMillion } from '../../src/core/money.ts'
import type { PriceVersion } from '../../src/core/price.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { type Duet, type JsonBody, newFolder, startDuet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'
import { openStoreOf } from '../support/stores.ts'

/**
 * Records of two and a half days, written by the ledger itself and listed by a real server. Two requests begin in each
 * millisecond that has any, every seventh fails, every fiftieth client leaves.
 */
const ROWS = 300
const BEGAN = Date.UTC(2026, 9, 30, 22, 15)
const STEP_MS = 25 * 60_000
const MODELS = ['acme/swift', 'acme/steady', 'other/large']
const ACCOUNTS = ['acc_a', 'acc_b'] as const
const KEYS = ['key_a1', 'key_b1', 'key_a2', 'key_b2'] as const

interface Row {
  readonly id: string
  readonly account: string
  readonly key: string
  readonly model: string
  readonly channel: string
  readonly protocol: string
  readonly status: string
  readonly at: number
  readonly input: number
  readonly output: number
  readonly cost: bigint
}

/** In the order of writing. */
const WRITTEN: readonly Row[] = Array.from({ length: ROWS }, (_, i) => {
  const [input, output] = [100 + i, 10 + (i % 40)]
  const status = i % 7 === 3 ? 'upstream_error' : i % 50 === 1 ? 'client_gone' : 'ok'
  const isFree = status === 'upstream_error'
  return {
    id: `request${String.fromCharCode(97 + Math.trunc(i / 26), 97 + (i % 26))}`,
    account: ACCOUNTS[i % 2] ?? '',
    key: KEYS[i % 4] ?? '',
    model: MODELS[i % 3] ?? '',
    channel: i % 5 === 0 ? 'spare' : 'main',
    protocol: i % 3 === 0 ? 'messages' : 'chat',
    status,
    at: BEGAN + Math.trunc(i / 2) * STEP_MS,
    input: isFree ? 0 : input,
    output: isFree ? 0 : output,
    cost: isFree ? 0n : BigInt(input) * 1_000n + BigInt(output) * 4_000n,
  }
})
const NEWEST_FIRST = WRITTEN.toReversed()

async function fill(folder: string): Promise<void> {
  const store = await openStoreOf(folder)
  const ledger = new Ledger(store.ledger, { owner: 'before', clock: () => BEGAN })
  for (const id of ACCOUNTS) {
    await store.directory.createAccount({ id, name: id.replace('acc_', 'team '), group: 'default', createdAt: BEGAN })
    await ledger.deposit({ kind: 'topup', accountId: id, amount: dollars(5), source: 'x', note: 'first', at: BEGAN })
  }
  for (const id of KEYS) {
    const accountId = `acc_${id[4]}`
    const limits = { cap: undefined, models: undefined, expiresAt: undefined }
    await store.directory.createKey({
      id,
      accountId,
      name: `name of ${id}`,
      secretHash: id,
      hint: '',
      createdAt: BEGAN,
      ...limits,
    })
  }
  const input = pricePerMillion(1)
  const price = { input, output: pricePerMillion(4), cacheRead: input, cacheWrite: input }
  const prices = await store.prices.publish(
    MODELS.map(model => ({ model, price })),
    BEGAN,
  )
  for (const row of WRITTEN) await write(row, ledger, prices.get(row.model) as PriceVersion)
  await store.close()
}

async function write(row: Row, ledger: Ledger, price: PriceVersion): Promise<void> {
  const call: HeldCall = {
    ...{ model: row.model, channel: row.channel, protocol: row.protocol as HeldCall['protocol'] },
    ...{ upstreamProtocol: 'chat', stream: false, priceId: price.id },
  }
  const who = { requestId: row.id, accountId: row.account, keyId: row.key, call }
  await ledger.hold({ ...who, most: nanos(5_000_000n), least: nanos(1n), at: row.at })
  const closing: Closing = {
    ...{ ...who, price, status: row.status, ending: row.status === 'ok' ? 'stop' : undefined, source: 'upstream' },
    usage: { input: row.input, cacheRead: 0, cacheWrite: 0, output: row.output, reasoning: 0 },
    ...{ startedAt: row.at, firstByteMs: 20, durationMs: 1_000 },
  }
  await ledger.settle(closing)
}

let duet: Duet
beforeAll(async () => {
  const folder = newFolder()
  await fill(folder)
  duet = await startDuet({ folder })
})
afterAll(() => duet.stop())

const get = (path: string) => duet.admin('GET', path)
const isoTime = (at: number) => new Date(at).toISOString()
const idsOf = (rows: readonly JsonBody[]): string[] => rows.map(row => row.request_id ?? row.id)

// ── the list ────────────────────────────────────────────────────────────────────────────────────────────────────────

const FROM = BEGAN + 40 * STEP_MS
const TO = BEGAN + 100 * STEP_MS + 1

interface Filter {
  readonly query: string
  readonly keeps: (row: Row) => boolean
}

const FILTERS: Readonly<Record<string, Filter>> = {
  'an account': { query: 'account=acc_b', keeps: row => row.account === 'acc_b' },
  'an account by its name': { query: 'account=team%20b', keeps: row => row.account === 'acc_b' },
  'a key': { query: 'key=key_b2', keeps: row => row.key === 'key_b2' },
  'a model': { query: 'model=acme/steady', keeps: row => row.model === 'acme/steady' },
  'a protocol': { query: 'protocol=messages', keeps: row => row.protocol === 'messages' },
  'a channel': { query: 'channel=spare', keeps: row => row.channel === 'spare' },
  success: { query: 'status=ok', keeps: row => row.status === 'ok' },
  failure: { query: 'status=error', keeps: row => row.status !== 'ok' },
  'one kind of failure': { query: 'status=client_gone', keeps: row => row.status === 'client_gone' },
  'a beginning': { query: `from=${isoTime(FROM)}`, keeps: row => row.at >= FROM },
  'an end': { query: `to=${isoTime(TO)}`, keeps: row => row.at < TO },
}

const nameOf = (filter: Filter) => filter.query.slice(0, filter.query.indexOf('='))

/** Every filter alone, and every two that do not ask for the same. */
const QUESTIONS = Object.entries(FILTERS).flatMap(([title, one], place, all) => [
  { title, filters: [one] },
  ...all
    .slice(place + 1)
    .filter(([, other]) => nameOf(other) !== nameOf(one))
    .map(([otherTitle, other]) => ({ title: `${title} and ${otherTitle}`, filters: [one, other] })),
])

/** All pages of a list, one after the other. */
async function walk(path: string, between: () => Promise<unknown> = async () => {}): Promise<JsonBody[]> {
  const rows: JsonBody[] = []
  for (let next: string | null = ''; next !== null; ) {
    const { status, body } = await get(`${path}${next ? `&cursor=${next}` : ''}`)
    expect(status).toBe(200)
    rows.push(...body.data)
    next = body.next
    await between()
  }
  return rows
}

describe('GET /api/usage', () => {
  test('has one row a request, newest first, and the last one written first among those of one millisecond', async () => {
    const rows = await walk('/api/usage?limit=500')
    expect(idsOf(rows)).toEqual(idsOf(NEWEST_FIRST))
    expect(rows[0]).toEqual({
      ...{ request_id: NEWEST_FIRST[0]?.id, account: 'acc_b', key: 'key_b2', key_name: 'name of key_b2' },
      ...{ model: 'other/large', channel: 'main' },
      ...{ protocol: 'chat', upstream_protocol: 'chat', stream: false, status: 'ok', ending: 'stop' },
      tokens: { input: 399, cache_read: 0, cache_write: 0, output: 29, reasoning: 0 },
      ...{ source: 'upstream', cost: '0.000515', started_at: isoTime(BEGAN + 149 * STEP_MS) },
      ...{ first_byte_ms: 20, duration_ms: 1_000, attempts: 1 },
    })
  })

  for (const { title, filters } of QUESTIONS) {
    test(`by ${title}`, async () => {
      const query = filters.map(filter => filter.query).join('&')
      const expected = idsOf(NEWEST_FIRST.filter(row => filters.every(filter => filter.keeps(row))))
      expect(expected.length).toBeLessThan(ROWS)
      expect(idsOf((await get(`/api/usage?${query}&limit=500`)).body.data)).toEqual(expected)
      expect(idsOf(await walk(`/api/usage?${query}&limit=7`))).toEqual(expected)
    })
  }

  test('by everything at once', async () => {
    const { 'an account': account, 'a model': model, success, 'a beginning': from, 'an end': to } = FILTERS
    const filters = [account, model, success, from, to].filter(filter => filter !== undefined)
    const expected = NEWEST_FIRST.filter(row => filters.every(filter => filter.keeps(row)))
    const { body } = await get(`/api/usage?${filters.map(({ query }) => query).join('&')}`)
    expect(expected.length).toBeGreaterThan(5)
    expect(idsOf(body.data)).toEqual(idsOf(expected))
  })

  test('from is a time at which a request may begin, to is one at which it may not', async () => {
    const [at, next] = [isoTime(FROM), isoTime(FROM + 1)]
    const both = NEWEST_FIRST.filter(row => row.at === FROM)
    expect(idsOf((await get(`/api/usage?from=${at}&to=${next}`)).body.data)).toEqual(idsOf(both))
    expect((await get(`/api/usage?from=${at}&to=${at}`)).body.data).toEqual([])
  })

  const TIMES: readonly [text: string, at: number][] = [
    ['2026-11-01', Date.UTC(2026, 10, 1)],
    ['2026-11-01T06:00', Date.UTC(2026, 10, 1, 6)],
    ['2026-11-01T06:00:00', Date.UTC(2026, 10, 1, 6)],
    ['2026-11-01T06:00:00.500Z', Date.UTC(2026, 10, 1, 6, 0, 0, 500)],
    ['2026-11-01T06:00:00%2B02:00', Date.UTC(2026, 10, 1, 4)],
    ['2026-11-01T06:00:00-0530', Date.UTC(2026, 10, 1, 11, 30)],
  ]
  for (const [text, at] of TIMES) {
    test(`a time may be written as ${decodeURIComponent(text)}`, async () => {
      const expected = NEWEST_FIRST.filter(row => row.at >= at)
      expect(idsOf((await get(`/api/usage?from=${text}&limit=500`)).body.data)).toEqual(idsOf(expected))
    })
  }

  test('what nobody ever used is an empty list', async () => {
    for (const query of [
      'key=key_none',
      'model=acme/none',
      'channel=none',
      'status=none',
      'from=2027-01-01',
      'to=2020-01-01',
    ]) {
      expect((await get(`/api/usage?${query}`)).body).toEqual({ data: [], next: null })
    }
  })

  test('pages have 50 rows unless the limit says otherwise, and never more than 500', async () => {
    expect((await get('/api/usage')).body.data).toHaveLength(50)
    expect((await get('/api/usage?limit=3')).body.data).toHaveLength(3)
    expect((await get('/api/usage?limit=9999')).body.data).toHaveLength(ROWS)
    const { body } = await get(`/api/usage?limit=${ROWS}`)
    expect(body.next).toBeNull()
  })

  const FAULTS: readonly [param: string, query: string][] = [
    ...['yesterday', '2026-13-01', '2026-02-30', '1790000000000', '2026-11-01T25:00:00Z', '01.11.2026'].flatMap(
      (text): [string, string][] => [
        ['from', `from=${text}`],
        ['to', `to=${text}`],
      ],
    ),
    ...['0', '-1', '1.5', 'many', '10000'].map((text): [string, string] => ['limit', `limit=${text}`]),
    ...['x', '12', '12-x', '1-2-3', "1'--2"].map((text): [string, string] => ['cursor', `cursor=${text}`]),
    ['acount', 'acount=acc_a'],
    ['protocol', 'protocol=smoke-signals'],
    ['by', 'by=day'],
  ]
  for (const [param, query] of FAULTS) {
    test(`${query} is 422 and names ${param}`, async () => {
      const { status, body } = await get(`/api/usage?${query}`)
      expect([status, body.error?.code, body.error?.param]).toEqual([422, 'invalid_field', param])
    })
  }

  test('an account that is not there is 404, as everywhere', async () => {
    expect((await get('/api/usage?account=nobody')).status).toBe(404)
  })

  test('pages are complete and without repetition while new rows keep coming', async () => {
    const { key } = (await duet.admin('POST', '/api/keys', { account: 'team a', name: 'busy' })).body
    const call = async () => {
      const { status } = await post(duet, CHAT, { model: 'openai/gpt-4.1', messages: user('Hi') }, { key })
      expect(status).toBe(200)
    }
    for (const query of ['limit=19', 'limit=19&account=acc_a', 'limit=19&account=acc_a&status=ok']) {
      const before = idsOf(await walk(`/api/usage?${query.replace('19', '500')}`))
      expect(idsOf(await walk(`/api/usage?${query}`, call))).toEqual(before)
    }
  })
})

// ── sums ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const HOUR = 3_600_000
const hourOf = (at: number) => Math.floor(at / HOUR) * HOUR

const DIMENSIONS: Readonly<Record<string, (row: Row) => string>> = {
  day: row => isoTime(row.at).slice(0, 10),
  hour: row => isoTime(hourOf(row.at)),
  account: row => row.account,
  key: row => row.key,
  model: row => row.model,
  channel: row => row.channel,
  protocol: row => row.protocol,
  status: row => row.status,
}

const written = (nanos: bigint) => (Number(nanos) / 1e9).toFixed(9).replace(/0{1,7}$/, '')

const sumsOf = (rows: readonly Row[]) => ({
  requests: rows.length,
  errors: rows.filter(({ status }) => status !== 'ok').length,
  tokens: {
    input: rows.reduce((sum, { input }) => sum + input, 0),
    output: rows.reduce((sum, { output }) => sum + output, 0),
    ...{ cache_read: 0, cache_write: 0, reasoning: 0 },
  },
  cost: written(rows.reduce((sum, { cost }) => sum + cost, 0n)),
})

/** The range keeps what other tests add out of the sums. */
const PAST = `to=${isoTime(BEGAN + 200 * STEP_MS)}`

describe('GET /api/usage/summary', () => {
  const groups = [
    ...Object.keys(DIMENSIONS).map(name => [name]),
    ['day', 'model'],
    ['account', 'key', 'status'],
    ['hour', 'channel', 'protocol'],
  ]

  for (const by of groups) {
    test(`by ${by.join(', ')} is the sum of the rows`, async () => {
      const dimensionsOf = (row: Row) => Object.fromEntries(by.map(name => [name, DIMENSIONS[name]?.(row)]))
      const expected = Map.groupBy(WRITTEN, row => JSON.stringify(dimensionsOf(row)))
        .entries()
        .map(([dimensions, rows]) => ({ ...JSON.parse(dimensions), ...sumsOf(rows) }))
        .toArray()
      const { body } = await get(`/api/usage/summary?by=${by.join(',')}&${PAST}`)
      expect(inAnyOrder(body.data, by)).toEqual(inAnyOrder(expected, by))
      expect(body.total).toEqual(sumsOf(WRITTEN))
      expect(body.next).toBeNull()
    })
  }

  const inAnyOrder = (rows: readonly JsonBody[], by: readonly string[]) =>
    rows.toSorted((a, b) => (by.map(name => a[name]).join() < by.map(name => b[name]).join() ? -1 : 1))

  test('of everything is one row, and says so without dimensions', async () => {
    const { body } = await get(`/api/usage/summary?${PAST}`)
    expect(body.data).toEqual([sumsOf(WRITTEN)])
  })

  test('is in the order of time, and the most expensive first', async () => {
    const days = (await get(`/api/usage/summary?by=day&${PAST}`)).body.data.map(({ day }: JsonBody) => day)
    expect(days).toEqual(['2026-10-30', '2026-10-31', '2026-11-01', '2026-11-02'])
    const costs = (await get(`/api/usage/summary?by=key&${PAST}`)).body.data.map(({ cost }: JsonBody) => Number(cost))
    expect(costs).toEqual(costs.toSorted((a: number, b: number) => b - a))
  })

  for (const { title, filters } of QUESTIONS.filter(question => !/beginning|end/.test(question.title))) {
    test(`takes the filters of the list: ${title}`, async () => {
      const query = filters.map(filter => filter.query).join('&')
      const { body } = await get(`/api/usage/summary?by=model&${PAST}&${query}`)
      expect(body.total).toEqual(sumsOf(WRITTEN.filter(row => filters.every(filter => filter.keeps(row)))))
    })
  }

  test('widens a range to whole hours, and says to which', async () => {
    const [from, to] = [BEGAN + 12 * STEP_MS + 1, BEGAN + 44 * STEP_MS + 1]
    const { body } = await get(`/api/usage/summary?from=${isoTime(from)}&to=${isoTime(to)}`)
    const [wideFrom, wideTo] = [hourOf(from), hourOf(to) + HOUR]
    expect([body.from, body.to]).toEqual([isoTime(wideFrom), isoTime(wideTo)])
    expect(wideFrom).toBeLessThan(from)
    expect(body.total).toEqual(sumsOf(WRITTEN.filter(({ at }) => at >= wideFrom && at < wideTo)))
  })

  test('leaves whole hours as they are, and an open end open', async () => {
    const [from, to] = [hourOf(BEGAN) + HOUR, hourOf(BEGAN) + 5 * HOUR]
    const { body } = await get(`/api/usage/summary?from=${isoTime(from)}&to=${isoTime(to)}`)
    expect([body.from, body.to]).toEqual([isoTime(from), isoTime(to)])
    expect(body.total).toEqual(sumsOf(WRITTEN.filter(({ at }) => at >= from && at < to)))
    expect((await get('/api/usage/summary')).body).toMatchObject({ from: null, to: null })
  })

  test('of nothing is no rows and a total of nothing', async () => {
    const { body } = await get('/api/usage/summary?by=day&to=2020-01-01')
    expect(body.data).toEqual([])
    expect(body.total).toEqual(sumsOf([]))
  })

  for (const [param, query] of [
    ['by', 'by=weekday'],
    ['by', 'by=day,modell'],
    ['from', 'from=soon'],
    ['limit', 'limit=5'],
  ] as const) {
    test(`${query} is 422 and names ${param}`, async () => {
      const { status, body } = await get(`/api/usage/summary?${query}`)
      expect([status, body.error.code, body.error.param]).toEqual([422, 'invalid_field', param])
    })
  }
})

// ── entries ─────────────────────────────────────────────────────────────────────────────────────────────────────────

describe('GET /api/accounts/{id}/entries', () => {
  test('come in pages, newest first, numbered without gaps, with the balance after each', async () => {
    const entries = await walk('/api/accounts/team%20b/entries?limit=17')
    const charges = NEWEST_FIRST.filter(row => row.account === 'acc_b' && row.cost > 0n)
    expect(entries.map(({ source }) => source)).toEqual([...idsOf(charges), 'x'])
    expect(entries.map(({ id }) => Number(id))).toEqual(entries.map((_, place) => entries.length - place))
    expect(entries.at(-1)).toMatchObject({ kind: 'topup', amount: '5.00', balance: '5.00', note: 'first', key: null })
    charges.forEach((charge, place) => {
      const [after, before] = [entries[place], entries[place + 1]]
      expect(after).toMatchObject({ kind: 'charge', amount: `-${written(charge.cost)}`, key: charge.key, note: null })
      expect(Math.round((Number(before.balance) - Number(after.balance)) * 1e9)).toBe(Number(charge.cost))
    })
  })

  test('each have a hash of their own, the last of which a verification names', async () => {
    const entries = await walk('/api/accounts/acc_b/entries?limit=500')
    const hashes = entries.map(({ hash }) => hash)
    for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{64}$/)
    expect(new Set(hashes).size).toBe(entries.length)
    const { body } = await get('/api/ledger/verify')
    expect([body.ok, body.heads.acc_b]).toEqual([true, hashes[0]])
  })

  test('of an account that does not exist are 404; a cursor or a limit that cannot be is 422', async () => {
    expect((await get('/api/accounts/nobody/entries')).status).toBe(404)
    for (const [query, param] of [
      ['cursor=x', 'cursor'],
      ['cursor=1-2', 'cursor'],
      ['limit=0', 'limit'],
    ]) {
      const { status, body } = await get(`/api/accounts/acc_b/entries?${query}`)
      expect([status, body.error.param]).toEqual([422, param])
    }
  })
})
