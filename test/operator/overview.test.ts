import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { OverviewView } from '../../src/admin/contract.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { type PastRequest, withPast } from '../support/history.ts'
import { CHAT, post, user } from '../support/http.ts'
import { inviteMember, type Person } from '../support/people.ts'
import { configFor, scriptUpstream } from '../support/upstream.ts'
import { vendorBody } from '../support/vendor.ts'
import { eventually, idOf, newCaller } from '../support/wire.ts'

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000]
const NOW = Date.now()
const dayOf = (at: number) => Math.floor(at / DAY_MS) * DAY_MS

const KEYS = Object.fromEntries([
  ...Array.from({ length: 8 }, (_, place) => [`key_a${place + 1}`, 'acc_a']),
  ['key_b1', 'acc_b'],
  ['key_c1', 'acc_c'],
])

/**
 * Every three hours for 40 days, back from now: keys and models take turns, some more often than others. Account C makes
 * two calls that cost a third of its money each.
 */
const REQUESTS: readonly PastRequest[] = Array.from({ length: 320 }, (_, i) => {
  const number = 319 - i
  const rank = Math.trunc(Math.sqrt(number % 64)) + 1
  const [isB, isC] = [number % 6 === 0, number === 12 || number === 16]
  const failed = number % 7 === 3
  return {
    id: `past${String.fromCharCode(97 + Math.trunc(number / 26), 97 + (number % 26))}`,
    ...(isC
      ? { account: 'acc_c', key: 'key_c1' }
      : isB
        ? { account: 'acc_b', key: 'key_b1' }
        : { account: 'acc_a', key: `key_a${rank}` }),
    model: `acme/model-${9 - rank}`,
    status: failed ? 'upstream_error' : 'ok',
    ...(failed ? {} : { input: 1_000 + number, output: isC ? 400_000 : 100 * rank, firstByteMs: 20 + (number % 50) }),
    at: NOW - 60_000 - number * 3 * HOUR_MS,
    durationMs: 100 + number * 3,
  }
})

let duet: Duet
beforeAll(async () => {
  duet = await startDuet(await withPast({ keys: KEYS, balance: 5, at: NOW - 41 * DAY_MS, requests: REQUESTS }))
})
afterAll(() => duet.stop())

const overviewOf = async (query = ''): Promise<OverviewView> => {
  const { status, body } = await duet.admin('GET', `/api/overview?${query}`)
  expect(status).toBe(200)
  return OverviewView.parse(body)
}

/** In billionths of a dollar. */
const nanosOf = (amount: string): bigint => {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)\.(\d+)$/.exec(amount) ?? []
  return BigInt(`${sign}${whole}${fraction.padEnd(9, '0')}`)
}
const costOf = ({ input = 0, output = 0 }: PastRequest): bigint => BigInt(input) * 1_000n + BigInt(output) * 4_000n
const costsOf = (requests: readonly PastRequest[]): bigint => requests.reduce((sum, row) => sum + costOf(row), 0n)

const sumsOf = (requests: readonly PastRequest[]) => ({
  cost: costsOf(requests),
  requests: requests.length,
  errors: requests.filter(({ status }) => status !== 'ok').length,
  // All of these reached an upstream.
  refused: 0,
})
const inNanos = ({ cost, ...counts }: OverviewView['today']) => ({
  cost: nanosOf(cost),
  ...counts,
})

const SCOPES: readonly [name: string, query: string, keeps: (request: PastRequest) => boolean][] = [
  ['all accounts', '', () => true],
  ['one account', 'account=acc_a', ({ account }) => account === 'acc_a'],
  ['one account by its name', 'account=name%20of%20acc_b', ({ account }) => account === 'acc_b'],
]

for (const [name, scope, keeps] of SCOPES) {
  const rows = REQUESTS.filter(keeps)
  /** Days as the server counted them when it answered. */
  const since = (view: OverviewView, daysBack: number) => {
    const today = dayOf(Date.parse(view.times.at(-1) ?? ''))
    return rows.filter(({ at }) => at >= today - daysBack * DAY_MS)
  }

  describe(`the overview of ${name}`, () => {
    test('has what was spent today, in 7 and in 30 days, and how many requests failed', async () => {
      const view = await overviewOf(scope)
      expect(inNanos(view.today)).toEqual(sumsOf(since(view, 0)))
      expect(inNanos(view.days_7)).toEqual(sumsOf(since(view, 6)))
      expect(inNanos(view.days_30)).toEqual(sumsOf(since(view, 29)))
      expect(since(view, 29).length).toBeLessThan(rows.length)
    })

    for (const [days, length, step] of [
      ['1', 24, HOUR_MS],
      ['7', 7, DAY_MS],
      ['30', 30, DAY_MS],
    ] as const) {
      test(`has ${length} points for ${days} days, by model and by key, which add up`, async () => {
        const view = await overviewOf(`${scope}&days=${days}`)
        const times = view.times.map(time => Date.parse(time))
        expect(view.days).toBe(days)
        expect(times).toHaveLength(length)
        expect(times.every((time, place) => time % step === 0 && time === (times[0] ?? 0) + place * step)).toBe(true)
        const inside = rows.filter(({ at }) => at >= (times[0] ?? 0))
        const pointOf = ({ at }: PastRequest) => Math.floor((at - (times[0] ?? 0)) / step)

        for (const [lines, idOf] of [
          [view.by_model, (row: PastRequest) => row.model],
          [view.by_key, (row: PastRequest) => row.key],
        ] as const) {
          const byId = Object.groupBy(inside, idOf)
          const ranked = Object.keys(byId).toSorted((a, b) => Number(costsOf(byId[b] ?? []) - costsOf(byId[a] ?? [])))
          const shown = lines.filter(({ id }) => id !== 'other')
          expect(shown.map(({ id }) => id)).toEqual(ranked.slice(0, 6))
          expect(lines.some(({ id }) => id === 'other')).toBe(ranked.length > 6)
          for (const line of lines) {
            const own = inside.filter(row =>
              line.id === 'other' ? !ranked.slice(0, 6).includes(idOf(row)) : idOf(row) === line.id,
            )
            const at = (point: number) => own.filter(row => pointOf(row) === point)
            expect(line.cost.map(nanosOf)).toEqual(times.map((_, point) => costsOf(at(point))))
            expect(line.requests).toEqual(times.map((_, point) => at(point).length))
            expect(nanosOf(line.total)).toBe(costsOf(own))
          }
        }
        expect(view.by_key.filter(({ id }) => id !== 'other').map(({ name }) => name)).toEqual(
          view.by_key.filter(({ id }) => id !== 'other').map(({ id }) => `name of ${id}`),
        )
      })
    }

    test('has how long the answers of its range took', async () => {
      const view = await overviewOf(`${scope}&days=30`)
      const ok = rows.filter(({ at, status }) => at >= Date.parse(view.times[0] ?? '') && status === 'ok')
      const rank = (values: readonly number[], percent: number) =>
        values.toSorted((a, b) => a - b).find((_, place) => (place + 1) * 100 >= percent * values.length) ?? null
      const [durations, firstBytes] = [ok.map(row => row.durationMs ?? 0), ok.map(row => row.firstByteMs ?? 0)]
      expect(view.latency).toEqual({
        ...{ sample: ok.length, p50_ms: rank(durations, 50), p95_ms: rank(durations, 95) },
        ...{ first_byte_p50_ms: rank(firstBytes, 50), first_byte_p95_ms: rank(firstBytes, 95) },
      })
    })

    test('has the last ten requests as the list has them', async () => {
      const view = await overviewOf(scope)
      const { body } = await duet.admin('GET', `/api/usage?limit=10&${scope}`)
      expect(view.recent).toEqual(body.data)
      expect(view.recent.map(row => row.request_id)).toEqual(
        rows
          .map(({ id }) => id)
          .toReversed()
          .slice(0, 10),
      )
    })
  })
}

describe('the overview', () => {
  test('of one account has its money and how long it lasts at the pace of the week', async () => {
    const view = await overviewOf('account=acc_a')
    const { body: account } = await duet.admin('GET', '/api/accounts/acc_a')
    expect([view.account, view.balance, view.held]).toEqual([account, account.balance, '0.00'])
    // The week has begun six days before today did.
    const days = (Date.now() - (dayOf(Date.parse(view.times.at(-1) ?? '')) - 6 * DAY_MS)) / DAY_MS
    const runway = Number(account.balance) / (Number(view.days_7.cost) / days)
    expect(view.runway_days).toBeCloseTo(runway, 0)
  })

  test('of all accounts has their money together', async () => {
    const { body } = await duet.admin('GET', '/api/accounts?limit=500')
    const total = (body.data as JsonBody[]).reduce((sum, { balance }) => sum + nanosOf(balance), 0n)
    const view = await overviewOf()
    expect([view.account, nanosOf(view.balance)]).toEqual([null, total])
  })

  test('of an account that spends nothing says so', async () => {
    const { account } = await newCaller(duet)
    const view = await overviewOf(`account=${account}`)
    expect(view).toMatchObject({ runway_days: null, by_model: [], by_key: [], alerts: [], recent: [] })
    expect(view.latency).toEqual({
      ...{ sample: 0, p50_ms: null, p95_ms: null, first_byte_p50_ms: null, first_byte_p95_ms: null },
    })
  })

  test('shows seven days unless it is asked for others, and refuses what it does not have', async () => {
    expect((await overviewOf()).days).toBe('7')
    for (const [query, param] of [
      ['days=2', 'days'],
      ['days=all', 'days'],
      ['key=key_a1', 'key'],
    ]) {
      const { status, body } = await duet.admin('GET', `/api/overview?${query}`)
      expect([status, body.error.param]).toEqual([422, param])
    }
    expect((await duet.admin('GET', '/api/overview?account=nobody')).status).toBe(404)
  })

  test('does not show as a model what somebody mistyped', async () => {
    const { key, account } = await newCaller(duet)
    await post(duet, CHAT, { model: 'acme/mistyped', messages: user('Hi') }, { key })
    // Nobody waits for it to be written down.
    const view = await eventually(
      () => overviewOf(`account=${account}`),
      ({ today }) => today.requests > 0,
    )
    // It was turned away; nothing has failed.
    expect(view.today).toEqual({ cost: '0.00', requests: 1, errors: 0, refused: 1 })
    expect(view.by_model).toMatchObject([{ id: 'other', total: '0.00' }])
  })
})

describe('what is unusual', () => {
  const alertsOf = async (query: string) => (await overviewOf(query)).alerts

  test('a balance that is used up, and one that soon will be', async () => {
    const empty = await newCaller(duet, { balance: '0' })
    expect(await alertsOf(`account=${empty.account}`)).toMatchObject([
      { kind: 'balance-empty', account: empty.account, balance: '0.00' },
    ])
    const low = await newCaller(duet, { balance: '0.9' })
    expect(await alertsOf(`account=${low.account}`)).toMatchObject([
      { kind: 'balance-low', account: low.account, balance: '0.90', days: null },
    ])
    const fine = await newCaller(duet, { balance: '1.01' })
    expect(await alertsOf(`account=${fine.account}`)).toEqual([])
  })

  test('a balance that lasts less than a week at this pace, though it is no small one', async () => {
    const { body: account } = await duet.admin('GET', '/api/accounts/acc_c')
    expect(Number(account.balance)).toBeGreaterThan(1.5)
    const view = await overviewOf('account=acc_c')
    const alert = { kind: 'balance-low', account: 'acc_c', name: 'name of acc_c', balance: account.balance }
    expect(view.alerts).toEqual([{ ...alert, days: view.runway_days } as (typeof view.alerts)[number]])
    expect(view.runway_days).toBeGreaterThan(0)
    expect(view.runway_days).toBeLessThan(7)
    expect(await alertsOf('')).toContainEqual(expect.objectContaining(alert))
  })

  test('keys at their cap and near it, the fullest first; keys that nobody can use are left out', async () => {
    const { account } = await newCaller(duet)
    const names = ['reached', 'near', 'far', 'disabled', 'revoked']
    const ids = new Map<string, string>()
    const content = user('x'.repeat(4_000))
    for (const name of names) {
      const { body: key } = await duet.admin('POST', '/api/keys', { account, name })
      ids.set(name, key.id)
      expect(
        (await post(duet, CHAT, { model: 'openai/gpt-4.1', max_tokens: 1, messages: content }, { key: key.key }))
          .status,
      ).toBe(200)
      const { body } = await duet.admin('GET', `/api/keys/${key.id}`)
      const factor = name === 'near' ? 1.2 : name === 'far' ? 1.3 : 1
      await duet.admin('PATCH', `/api/keys/${key.id}`, { cap: (Number(body.spent) * factor).toFixed(9) })
    }
    await duet.admin('PATCH', `/api/keys/${ids.get('disabled')}`, { enabled: false })
    await duet.admin('DELETE', `/api/keys/${ids.get('revoked')}`)
    expect(await alertsOf(`account=${account}`)).toMatchObject([
      { kind: 'key-cap-reached', key: ids.get('reached'), name: 'reached' },
      { kind: 'key-near-cap', key: ids.get('near'), name: 'near' },
    ])
  })

  test('of all accounts, what is unusual with any of them, but not those that never had money', async () => {
    const { body: fresh } = await duet.admin('POST', '/api/accounts', { name: 'nobody paid yet' })
    const used = await newCaller(duet, { balance: '0.5' })
    const accounts = (await alertsOf('')).flatMap(alert => ('account' in alert ? [alert.account] : []))
    expect(accounts).toContain(used.account)
    expect(accounts).not.toContain(fresh.id)
    expect((await alertsOf('')).filter(({ kind }) => kind.startsWith('balance')).length).toBeLessThanOrEqual(20)
  })
})

describe('to a member the overview', () => {
  let member: Person
  beforeAll(async () => {
    member = await inviteMember(duet, 'looker', { account: 'acc_b' })
  })

  test('is that of their own account, without channels', async () => {
    const { body } = await member.call('GET', '/api/overview?days=30')
    const view = await overviewOf('days=30&account=acc_b')
    expect(body.account.id).toBe('acc_b')
    expect({ ...body, recent: [] }).toEqual({ ...view, recent: [] })
    expect(body.recent).toEqual(view.recent.map(row => ({ ...row, channel: '' })))
  })

  test('is never that of another', async () => {
    expect((await member.call('GET', '/api/overview?account=acc_a')).status).toBe(404)
  })
})

describe('the first steps', () => {
  test('tick themselves off, one by one', async () => {
    const fresh = await startDuet()
    const steps = async () => (await fresh.admin('GET', '/api/overview')).body.steps
    expect(await steps()).toEqual({ channel: false, key: false, request: false, cap: false })
    // A request that is refused is none that was made.
    await post(fresh, CHAT, { model: 'acme/nothing', messages: user('Hi') })
    expect(await steps()).toMatchObject({ request: false })
    await post(fresh, CHAT, { model: 'openai/gpt-4.1', messages: user('Hi') })
    expect(await steps()).toMatchObject({ key: false, request: true })
    const { body: key } = await fresh.admin('POST', '/api/keys', { account: 'default', name: 'own' })
    expect(await steps()).toMatchObject({ key: true, cap: false })
    await fresh.admin('PATCH', `/api/keys/${key.id}`, { cap: '5' })
    expect(await steps()).toEqual({ channel: false, key: true, request: true, cap: true })
    await fresh.stop()
  })

  test('a real upstream is one of them, and a model without a price is worth a word', async () => {
    const upstream = scriptUpstream(() => Response.json(vendorBody('chat')))
    const config = configFor(upstream.base, 'chat', { model: '  - { id: acme/unpriced }' })
    const fresh = await startDuet({ config })
    const { body } = await fresh.admin('GET', '/api/overview')
    expect(body.steps.channel).toBe(true)
    expect(body.alerts).toEqual([{ kind: 'price-missing', model: 'acme/unpriced' }])
    const member = await inviteMember(fresh, 'member')
    expect((await member.call('GET', '/api/overview')).body.alerts).toMatchObject([{ kind: 'balance-empty' }])
    await fresh.stop()
    await upstream.stop()
  })

  test('a channel that does not answer any more is worth a word', async () => {
    const upstream = scriptUpstream(() => new Response('', { status: 500 }))
    const fresh = await startDuet({ config: configFor(upstream.base, 'chat') })
    for (let tries = 0; tries < 6; tries++) {
      const failed = await post(fresh, CHAT, { model: 'acme/swift-2', messages: user('Hi') })
      expect([failed.status, idOf(failed).length > 0]).toEqual([502, true])
    }
    const { body } = await fresh.admin('GET', '/api/overview')
    expect(body.alerts).toMatchObject([{ kind: 'channel-down', channel: 'acme-main' }])
    await fresh.stop()
    await upstream.stop()
  })
})
