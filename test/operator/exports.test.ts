import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { parseCsv, recordsIn } from '../support/csv.ts'
import { ADMIN_TOKEN, type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { type PastRequest, withPast } from '../support/history.ts'
import { CHAT, post, user } from '../support/http.ts'
import { inviteMember, type Person } from '../support/people.ts'
import { eventually, newCaller } from '../support/wire.ts'

const BEGAN = Date.UTC(2026, 9, 1)
const HOUR_MS = 3_600_000
/** More than are read at once, so that a file is put together from several looks. */
const ROWS = 1_203

const KEYS = { key_a: 'acc_a', key_b: 'acc_b' }

const REQUESTS: readonly PastRequest[] = Array.from({ length: ROWS }, (_, i) => ({
  id: `request${String.fromCharCode(97 + Math.trunc(i / 676), 97 + (Math.trunc(i / 26) % 26), 97 + (i % 26))}`,
  ...(i % 3 === 0 ? { account: 'acc_b', key: 'key_b' } : { account: 'acc_a', key: 'key_a' }),
  model: i % 2 === 0 ? 'acme/swift' : 'acme/large',
  protocol: i % 5 === 0 ? 'messages' : 'chat',
  status: i % 10 === 7 ? 'upstream_error' : 'ok',
  ...(i % 10 === 7 ? {} : { input: 100 + i, output: i }),
  at: BEGAN + i * HOUR_MS,
}))

let duet: Duet
beforeAll(async () => {
  duet = await startDuet(await withPast({ keys: KEYS, balance: 5, at: BEGAN - HOUR_MS, requests: REQUESTS }))
})
afterAll(() => duet.stop())

async function download(path: string, who?: Person) {
  const headers: Record<string, string> = who ? { cookie: who.cookie } : { authorization: `Bearer ${ADMIN_TOKEN}` }
  const response = await fetch(duet.url + path, { headers })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
  return { text: await response.text(), headers: response.headers }
}

const idsIn = (records: readonly Record<string, string>[]) => records.map(record => record.request_id)
const expectedIds = (keeps: (request: PastRequest) => boolean) =>
  REQUESTS.filter(keeps)
    .map(({ id }) => id)
    .toReversed()

describe('GET /api/usage.csv', () => {
  test('is a file with a line of names and every request, newest first', async () => {
    const { text, headers } = await download('/api/usage.csv')
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="duet-usage-\d{4}-\d\d-\d\d\.csv"$/)
    expect(idsIn(recordsIn(text))).toEqual(expectedIds(() => true))
  })

  test('says of each request what the list says of it', async () => {
    const records = recordsIn((await download('/api/usage.csv?account=acc_b')).text)
    const { body } = await duet.admin('GET', '/api/usage?account=acc_b&limit=100')
    for (const [place, { tokens, ...row }] of (body.data as JsonBody[]).entries()) {
      const failed = row.status !== 'ok'
      const said = { ...row, ...tokens, error: failed ? `it was ${row.status}` : '' }
      const texts = Object.entries(said).map(([name, value]) => [name, value === null ? '' : String(value)])
      expect(records[place]).toEqual(Object.fromEntries(texts))
    }
    expect(body.data).toHaveLength(100)
  })

  const FILTERS: readonly [query: string, keeps: (request: PastRequest) => boolean][] = [
    ['account=acc_b', ({ account }) => account === 'acc_b'],
    ['key=key_a&model=acme/large', ({ key, model }) => key === 'key_a' && model === 'acme/large'],
    ['protocol=messages&status=error', ({ protocol, status }) => protocol === 'messages' && status !== 'ok'],
    ['channel=main&status=ok', ({ status }) => status === 'ok'],
    ['from=2026-10-10&to=2026-10-20', ({ at }) => at >= Date.UTC(2026, 9, 10) && at < Date.UTC(2026, 9, 20)],
    ['channel=none', () => false],
  ]
  for (const [query, keeps] of FILTERS) {
    test(`takes the filters of the list: ${query}`, async () => {
      expect(idsIn(recordsIn((await download(`/api/usage.csv?${query}`)).text))).toEqual(expectedIds(keeps))
    })
  }

  for (const query of ['limit=5', 'cursor=1-1', 'from=soon', 'acount=acc_a']) {
    test(`refuses ${query}`, async () => {
      expect((await duet.admin('GET', `/api/usage.csv?${query}`)).status).toBe(422)
    })
  }

  test('keeps names of keys from becoming formulas', async () => {
    const { account } = await newCaller(duet, { balance: '0' })
    const name = '=HYPERLINK("http://127.0.0.1/","click"),'
    const { body: key } = await duet.admin('POST', '/api/keys', { account, name })
    await post(duet, CHAT, { model: 'openai/gpt-4.1', messages: user('Hi') }, { key: key.key })
    const [record] = await eventually(
      async () => recordsIn((await download(`/api/usage.csv?account=${account}`)).text),
      records => records.length > 0,
    )
    expect(record).toMatchObject({ key_name: `'${name}`, status: 'insufficient_user_quota' })
  })
})

describe('GET /api/accounts/{id}/entries.csv', () => {
  const entriesOf = async (query = '') => recordsIn((await download(`/api/accounts/acc_a/entries.csv${query}`)).text)

  test('is a file with every change of the balance, newest first', async () => {
    const { text, headers } = await download('/api/accounts/acc_a/entries.csv')
    expect(headers.get('content-disposition')).toMatch(/filename="duet-entries-acc_a-\d{4}-\d\d-\d\d\.csv"$/)
    expect(parseCsv(text)[0]).toEqual(['time', 'kind', 'amount', 'balance', 'source', 'key', 'note', 'hash'])
    const listed: JsonBody[] = []
    for (let cursor = ''; ; ) {
      const { body } = await duet.admin('GET', `/api/accounts/acc_a/entries?limit=500${cursor}`)
      listed.push(...body.data)
      if (body.next === null) break
      cursor = `&cursor=${body.next}`
    }
    const expected = listed.map(({ at, kind, amount, balance, source, key, note, hash }) => ({
      ...{ time: at, kind, amount, balance, source, key: key ?? '', note: note ?? '', hash },
    }))
    expect(recordsIn(text)).toEqual(expected)
    expect(expected.length).toBeGreaterThan(600)
    expect(expected.at(-1)).toMatchObject({ kind: 'topup', amount: '5.00', note: 'first' })
  })

  test('has amounts below zero as numbers', async () => {
    const [newest] = await entriesOf()
    expect(newest?.amount).toMatch(/^-0\.\d+$/)
  })

  test('may be of a time only', async () => {
    const [from, to] = ['2026-10-10T00:00:00.000Z', '2026-10-12T00:00:00.000Z']
    const all = await entriesOf()
    const expected = all.filter(({ time = '' }) => time >= from && time < to)
    expect(expected.length).toBeGreaterThan(20)
    expect(await entriesOf(`?from=${from}&to=${to}`)).toEqual(expected)
    expect(await entriesOf('?from=2030-01-01')).toEqual([])
  })

  test('refuses what it does not know, and accounts that are not there', async () => {
    expect((await duet.admin('GET', '/api/accounts/acc_a/entries.csv?limit=5')).status).toBe(422)
    expect((await duet.admin('GET', '/api/accounts/nobody/entries.csv')).status).toBe(404)
  })
})

describe('a member', () => {
  let member: Person
  beforeAll(async () => {
    member = await inviteMember(duet, 'bookkeeper', { account: 'acc_b' })
  })

  test('has the requests of their own account, without channels', async () => {
    const records = recordsIn((await download('/api/usage.csv', member)).text)
    expect(idsIn(records)).toEqual(expectedIds(({ account }) => account === 'acc_b'))
    expect(new Set(records.map(({ channel }) => channel))).toEqual(new Set(['']))
    expect((await member.call('GET', '/api/usage.csv?account=acc_a')).status).toBe(404)
  })

  test('has the entries of their own account', async () => {
    const own = await download('/api/accounts/acc_b/entries.csv', member)
    expect(own.text).toBe((await download('/api/accounts/acc_b/entries.csv')).text)
    expect((await member.call('GET', '/api/accounts/acc_a/entries.csv')).status).toBe(404)
  })
})

describe('a file that takes its time', () => {
  /** Names so long that the file does not fit into what is buffered between two ends: whoever does not read keeps it open. */
  const LONG = `acme/${'x'.repeat(4_000)}`
  const MANY: readonly PastRequest[] = Array.from({ length: 3_000 }, (_, i) => ({
    ...{ id: `request${i}`, account: 'acc_a', key: 'key_a', model: LONG, at: BEGAN + i, input: 1 },
  }))

  let slow: Duet
  beforeAll(async () => {
    slow = await startDuet(await withPast({ keys: KEYS, balance: 5, at: BEGAN - HOUR_MS, requests: MANY }))
  }, 30_000)
  afterAll(() => slow.stop())

  const asking = (who?: Person, method = 'GET'): RequestInit => ({
    method,
    headers: who ? { cookie: who.cookie } : { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  const open = (who?: Person) => fetch(`${slow.url}/api/usage.csv`, asking(who))
  const told = async (response: Response) => {
    const { error } = (await response.json()) as JsonBody
    return [response.status, response.headers.get('retry-after'), error.code]
  }

  test('is kept open by nobody who asks for its headers alone', async () => {
    for (let heads = 0; heads < 10; heads++) {
      const { status, headers } = await fetch(`${slow.url}/api/usage.csv`, asking(undefined, 'HEAD'))
      expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
      expect(headers.get('content-disposition')).toStartWith('attachment')
    }
  })

  test('does not say how long it is to those who ask for its headers alone', async () => {
    const response = await fetch(`${slow.url}/api/usage.csv`, asking(undefined, 'HEAD'))
    expect([response.status, response.headers.get('content-length')]).toEqual([200, null])
  })

  test('is one of two of a user and of six of all; who has left makes room', async () => {
    const people = await Promise.all(
      ['reader', 'writer', 'late'].map(name => inviteMember(slow, name, { account: 'acc_a' })),
    )
    const [reader, writer, late] = people
    const under = [await open(), await open()]
    expect(await told(await open())).toEqual([429, '5', 'too_many_at_once'])
    const entries = await fetch(`${slow.url}/api/accounts/acc_a/entries.csv`, asking())
    expect(await told(entries)).toEqual([429, '5', 'too_many_at_once'])

    for (const who of [reader, writer]) under.push(await open(who), await open(who))
    expect(under.map(({ status }) => status)).toEqual(Array(6).fill(200))
    expect(await told(await open(late))).toEqual([503, '10', 'too_many_at_once'])

    await under.pop()?.body?.cancel()
    const welcome = await eventually(
      () => open(late),
      ({ status }) => status === 200,
    )
    expect(welcome.status).toBe(200)
    await Promise.all([...under, welcome].map(({ body }) => body?.cancel()))
  })

  test('breaks off when the gateway stops: it does not end like one that is whole', async () => {
    const response = await eventually(
      () => open(),
      ({ status }) => status === 200,
    )
    const stopped = slow.stop()
    let health = await fetch(`${slow.url}/health/ready`)
    while (health.status === 200) health = await fetch(`${slow.url}/health/ready`)
    expect(
      await response.text().then(
        () => 'whole',
        () => 'broken',
      ),
    ).toBe('broken')
    expect(await stopped).toBe(0)
    slow = await slow.restart()
    const whole = await open()
    expect(recordsIn(await whole.text())).toHaveLength(MANY.length)
  })
})
