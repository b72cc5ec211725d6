import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { recordsIn } from '../support/csv.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { type Answer, CHAT, post, user } from '../support/http.ts'
import { inviteMember } from '../support/people.ts'
import { parseMetrics } from '../support/prometheus.ts'
import { scriptUpstream } from '../support/upstream.ts'
import { protocolOf, vendorAnswer, vendorError } from '../support/vendor.ts'
import { eventually, idOf, newCaller } from '../support/wire.ts'
import { channelOf } from './catalog/stage.ts'
import { commandsFor, readTable } from './cli/run.ts'

/** Nothing of a known shape in them: they can be found only by those who know them. */
const REFUSED_KEY = 'Kq3RunmistakableRefused'
const GOOD_KEY = 'Wd8LunmistakableGood'

/** What is answered to whoever comes with a key; 200 unless something is said. */
const statuses = new Map<string, number>()
const upstream = scriptUpstream(visit => {
  const key = visit.headers.get('x-api-key') ?? (visit.headers.get('authorization') ?? '').replace('Bearer ', '')
  const status = statuses.get(key)
  if (status === undefined) return vendorAnswer(visit)
  return Response.json(vendorError(protocolOf(visit), `not with ${key}`), { status })
})

const MODELS = ['keys', 'resting', 'brief', 'two', 'passing']

const channel = (name: string, model: string, more: string) => `
  - { name: ${name}, base_url: "${upstream.base}", models: { acme/${model}: known-upstream }, ${more} }`

const CONFIG = () => `models:
${MODELS.map(name => `  - { id: acme/${name}, price: { input: 1, output: 4 } }`).join('\n')}
channels:
${[
  channel('two-keys', 'keys', `protocol: chat, api_keys: [${REFUSED_KEY}, ${GOOD_KEY}]`),
  channel('resting', 'resting', 'protocol: chat, api_key: of-resting, breaker: { cool_down: 60s }'),
  channel('brief', 'brief', 'protocol: chat, api_key: of-brief, breaker: { cool_down: 20ms }'),
  channel('first', 'two', 'protocol: messages, api_key: of-first, breaker: false'),
  channel('second', 'two', 'protocol: chat, api_key: of-second, priority: 1'),
].join('')}
`

let duet: Duet
beforeAll(async () => {
  duet = await startDuet({ config: CONFIG() })
})
afterAll(async () => {
  await duet.stop()
  await upstream.stop()
})

const ask = (model: string, key = duet.key): Promise<Answer> =>
  post(duet, CHAT, { model: `acme/${model}`, messages: user('Hello') }, { key })
const scrape = async () => parseMetrics(await (await fetch(`${duet.url}/metrics`)).text())
const logged = (): JsonBody[] =>
  duet
    .output()
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
/** Lines are written at the end of a turn. */
const toldOf = (channel: string, message: string): Promise<JsonBody> =>
  eventually(
    () => logged().find(line => line.channel === channel && line.message.includes(message)),
    line => line !== undefined,
  )

describe('a vendor key that is refused', () => {
  test('is out, calls go on with the other one, and everyone who looks is told', async () => {
    statuses.set(REFUSED_KEY, 401)
    for (let call = 0; call < 4; call++) expect((await ask('keys')).status).toBe(200)
    expect(upstream.requests.filter(({ headers }) => headers.get('authorization')?.endsWith('Refused'))).toHaveLength(1)

    const view = await channelOf(duet, 'two-keys')
    const [refused, good] = view.keys
    expect(refused.health).toMatchObject({
      ...{ state: 'down', breaker: 'open', refused: true, errors: 1 },
      last_error: expect.stringContaining('refused the credential'),
    })
    expect(Date.parse(refused.health.rests_until)).toBeGreaterThan(Date.now() + 5_000)
    const well = { breaker: 'closed', rests_until: null, refused: false }
    expect(good.health).toMatchObject({ state: 'healthy', ...well })
    expect(view.health).toMatchObject({ state: 'degraded', ...well })

    expect(await toldOf('two-keys', 'refused the credential')).toMatchObject({ level: 'error', key: refused.id })

    const metrics = await scrape()
    const stateOf = (key: string) => metrics.state('duet_channel_key_state', { channel: 'two-keys', key })
    expect([stateOf(refused.id), stateOf(good.id)]).toEqual(['refused', 'closed'])
    expect(metrics.state('duet_channel_state', { channel: 'two-keys' })).toBe('closed')
    const asked = (status: string) => metrics.value('duet_upstream_requests_total', { channel: 'two-keys', status })
    expect([asked('ok'), asked('upstream_auth_failed')]).toEqual([4, 1])
    expect(metrics.value('duet_upstream_retries_total', { channel: 'two-keys' })).toBe(1)

    const { duet: run } = commandsFor(duet)
    const row = readTable((await run('channels', 'list')).out).find(({ NAME }) => NAME === 'two-keys')
    expect(row).toMatchObject({ STATE: 'degraded', 'TRIED AGAIN': '-', KEYS: '1 of 2, 1 refused' })
  })

  test('is the end of a channel that has no other: it is down, and says until when', async () => {
    statuses.set(GOOD_KEY, 402)
    expect((await ask('keys')).status).toBe(502)
    const refusal = await ask('keys')
    expect([refusal.status, refusal.body.error.code]).toEqual([503, 'upstream_unavailable'])
    const { health, keys } = await channelOf(duet, 'two-keys')
    expect(health).toMatchObject({ state: 'down', breaker: 'open', refused: true, down_since: expect.any(String) })
    const soonest = keys.map((key: JsonBody) => key.health.rests_until).toSorted()[0]
    expect(health.rests_until).toBe(soonest)
    expect((await scrape()).state('duet_channel_state', { channel: 'two-keys' })).toBe('open')
    const { body: overview } = await duet.admin('GET', '/api/overview?days=1')
    expect(overview.alerts).toContainEqual(expect.objectContaining({ kind: 'channel-down', channel: 'two-keys' }))
  })

  test('is in no log, no answer and no metric', async () => {
    const { body } = await duet.admin('GET', '/api/channels')
    const metrics = await (await fetch(`${duet.url}/metrics`)).text()
    for (const key of [REFUSED_KEY, GOOD_KEY]) {
      for (const text of [duet.output(), JSON.stringify(body), metrics]) expect(text).not.toContain(key)
    }
  })
})

describe('a channel that keeps failing', () => {
  const failFive = async (name: string) => {
    statuses.set(`of-${name}`, 500)
    for (let call = 0; call < 5; call++) expect((await ask(name)).status).toBe(502)
  }

  test('is left alone, and the log, the metrics, the API and the command line say so', async () => {
    await failFive('resting')
    const before = upstream.requests.length
    const refusal = await ask('resting')
    expect([refusal.status, refusal.body.error.code]).toEqual([503, 'upstream_unavailable'])
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(upstream.requests).toHaveLength(before)

    const { health } = await channelOf(duet, 'resting')
    expect(health).toMatchObject({
      ...{ state: 'down', breaker: 'open', refused: false, errors: 5, last_error: 'The upstream failed (HTTP 500)' },
      down_since: expect.any(String),
    })
    expect(Date.parse(health.rests_until)).toBeGreaterThan(Date.parse(health.last_error_at))
    expect(await toldOf('resting', 'left alone')).toMatchObject({ level: 'error', rest_ms: 60_000 })
    const metrics = await scrape()
    expect(metrics.state('duet_channel_state', { channel: 'resting' })).toBe('open')
    const labels = { channel: 'resting', status: 'upstream_error' }
    expect(metrics.value('duet_upstream_requests_total', labels)).toBe(5)

    const { duet: run } = commandsFor(duet)
    const row = readTable((await run('channels', 'list')).out).find(({ NAME }) => NAME === 'resting')
    expect(row).toMatchObject({ STATE: 'down', 'TRIED AGAIN': health.rests_until.replace(/\.\d+Z$/, 'Z') })
  })

  test('is tried again by one request after a while, and is back if that is answered', async () => {
    await failFive('brief')
    const waiting = await eventually(
      () => channelOf(duet, 'brief'),
      ({ health }) => health.breaker === 'half-open',
    )
    expect(waiting.health).toMatchObject({ state: 'degraded', breaker: 'half-open', rests_until: null })
    expect((await scrape()).state('duet_channel_state', { channel: 'brief' })).toBe('half-open')

    statuses.delete('of-brief')
    expect((await ask('brief')).status).toBe(200)
    const { health } = await channelOf(duet, 'brief')
    expect(health).toMatchObject({ state: 'degraded', breaker: 'closed', rests_until: null, down_since: null })
    expect((await scrape()).state('duet_channel_state', { channel: 'brief' })).toBe('closed')
    expect(await toldOf('brief', 'answers again')).toMatchObject({ level: 'info' })
  })
})

describe('a request that took two upstreams', () => {
  test('has both in its receipt, in the list and in the file', async () => {
    statuses.set('of-first', 503)
    const id = idOf(await ask('two'))
    const { body } = await duet.admin('GET', `/api/usage/${id}`)
    expect(body).toMatchObject({ status: 'ok', channel: 'second', upstream_protocol: 'chat', attempts: 2 })
    const [failed, answered] = body.receipt.attempts
    const keyOf = async (name: string) => (await channelOf(duet, name)).keys[0].id
    expect(failed).toEqual({
      ...{ channel: 'first', key: await keyOf('first'), protocol: 'messages', status: 'upstream_error' },
      ...{ error: 'The upstream failed (HTTP 503)', first_byte_ms: null },
      ...{ start_ms: expect.any(Number), duration_ms: expect.any(Number) },
    })
    expect(answered).toMatchObject({ channel: 'second', key: await keyOf('second'), status: 'ok', error: null })
    expect(answered.start_ms).toBeGreaterThanOrEqual(failed.start_ms + failed.duration_ms)

    const { body: list } = await duet.admin('GET', '/api/usage?model=acme/two')
    expect(list.data).toMatchObject([{ request_id: id, attempts: 2 }])
    const { body: file } = await duet.admin('GET', '/api/usage.csv?model=acme/two')
    expect(recordsIn(file)).toMatchObject([{ request_id: id, attempts: '2' }])

    const { duet: run } = commandsFor(duet)
    const { out } = await run('usage', id)
    expect(out).toMatch(/^ {2}first +messages +upstream_error +- .* The upstream failed \(HTTP 503\)$/m)
    expect(out).toMatch(/^ {2}second +chat +ok +\d+ /m)
  })

  test('shows members that there were two, and neither channels nor keys', async () => {
    statuses.set('of-first', 503)
    const member = await inviteMember(duet, 'Mei')
    const account = member.session.account.id
    await duet.admin('POST', `/api/accounts/${account}/topups`, { amount: '1' })
    const { body: key } = await duet.admin('POST', '/api/keys', { account, name: 'mine' })
    const id = idOf(await ask('two', key.key))
    const { body } = await member.call('GET', `/api/usage/${id}`)
    expect(body).toMatchObject({ channel: '', attempts: 2 })
    expect(body.receipt.attempts).toMatchObject([
      { channel: '', key: '', status: 'upstream_error', error: 'The upstream failed (HTTP 503)' },
      { channel: '', key: '', status: 'ok', error: null },
    ])
    expect(JSON.stringify(body)).not.toMatch(/first"|second"/)
  })

  test('is counted for both channels, and one that was refused for none', async () => {
    const asked = async (name: string, status: string) =>
      (await scrape()).value('duet_upstream_requests_total', { channel: name, status })
    const before = [await asked('first', 'upstream_error'), await asked('second', 'ok')]
    await ask('two')
    expect([await asked('first', 'upstream_error'), await asked('second', 'ok')]).toEqual(before.map(n => n + 1))
    const { key } = await newCaller(duet, { balance: '0' })
    const refused = await ask('two', key)
    expect(refused.status).toBe(403)
    expect(await asked('second', 'ok')).toBe((before[1] ?? 0) + 1)
  })
})

describe('GET /metrics', () => {
  test('says how long upstreams took, and that nothing is held when nothing is asked', async () => {
    statuses.set('of-first', 503)
    await ask('two')
    const metrics = await scrape()
    const answers = metrics.value('duet_upstream_requests_total', { channel: 'second', status: 'ok' })
    expect(metrics.value('duet_upstream_duration_seconds_count', { channel: 'second' })).toBe(answers)
    expect(metrics.value('duet_upstream_first_byte_seconds_count', { channel: 'second' })).toBe(answers)
    expect(metrics.value('duet_upstream_first_byte_seconds_count', { channel: 'first' })).toBe(0)
    expect(metrics.value('duet_upstream_duration_seconds_sum', { channel: 'second' })).toBeGreaterThanOrEqual(0)
    expect(metrics.value('duet_holds_open')).toBe(0)
  })

  test('has what the catalog has: a paused channel is paused, and one that is deleted is gone', async () => {
    const settings = { protocol: 'chat', base_url: upstream.base, api_keys: ['of-passing'], models: ['acme/passing'] }
    await duet.admin('POST', '/api/channels', { name: 'passing', ...settings })
    expect((await ask('passing')).status).toBe(200)
    const named = async () => (await scrape()).samples.filter(({ labels }) => labels.channel === 'passing').length
    expect(await named()).toBeGreaterThan(0)
    await duet.admin('PUT', '/api/channels/passing/paused', { paused: true })
    expect((await scrape()).state('duet_channel_state', { channel: 'passing' })).toBe('paused')
    await duet.admin('DELETE', '/api/channels/passing')
    expect(await named()).toBe(0)
  })
})
