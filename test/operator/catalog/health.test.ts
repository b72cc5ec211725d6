import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../../support/duet.ts'
import { eventually, newCaller } from '../../support/wire.ts'
import { addAcme, channelOf, chat, FIRST_KEY, fickleUpstream, MODEL, SECOND_KEY } from './stage.ts'

const upstream = fickleUpstream()
let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
  await duet.admin('POST', '/api/models', { id: MODEL, price: { input: 1, output: 4 } })
})
afterAll(async () => {
  await duet.stop()
  await upstream.stop()
})

let channels = 0

describe('the health of a channel', () => {
  let name: string
  const health = async () => (await channelOf(duet, name)).health
  const calls = async (count: number, more: object = {}) => {
    for (let call = 0; call < count; call++) await chat(duet, MODEL, more)
  }
  beforeEach(async () => {
    upstream.mood.status = undefined
    upstream.refused.clear()
    if (name) await duet.admin('DELETE', `/api/channels/${name}`)
    name = `acme-${++channels}`
    const settings = { protocol: 'chat', base_url: upstream.base, api_keys: [FIRST_KEY], models: [MODEL] }
    // Longer than two looks at it take on a busy machine, and short enough to wait for.
    const breaker = { cool_down: '500ms' }
    expect((await duet.admin('POST', '/api/channels', { name, ...settings, breaker })).status).toBe(201)
  })

  test('is unused at first, and healthy as long as it answers, whole and streamed', async () => {
    expect(await health()).toMatchObject({ state: 'unused', requests: 0, p50_ms: null, last_ok_at: null })
    await calls(2)
    await calls(1, { stream: true })
    expect(await health()).toMatchObject({
      ...{ state: 'healthy', requests: 3, errors: 0, sample: 3, last_error: null, down_since: null },
      ...{ p50_ms: expect.any(Number), p95_ms: expect.any(Number), first_byte_p95_ms: expect.any(Number) },
      last_ok_at: expect.any(String),
    })
    expect((await channelOf(duet, name)).last_day).toEqual({ requests: 3, errors: 0 })
  })

  test('is degraded when a fifth of its calls fail, and down when five in a row do', async () => {
    await calls(4)
    upstream.mood.status = 500
    await calls(1)
    expect(await health()).toMatchObject({ state: 'degraded', requests: 5, errors: 1, down_since: null })
    await calls(4)
    const { down_since, ...down } = await health()
    expect(down).toMatchObject({ state: 'down', errors: 5, last_error: 'The upstream failed (HTTP 500)' })
    expect(Date.parse(down_since)).toBeLessThanOrEqual(Date.parse(down.last_error_at))
    const { body: overview } = await duet.admin('GET', '/api/overview?days=1')
    expect(overview.alerts).toContainEqual(expect.objectContaining({ kind: 'channel-down', channel: name }))

    upstream.mood.status = undefined
    await eventually(
      () => chat(duet),
      ({ status }) => status === 200,
    )
    expect(await health()).toMatchObject({ state: 'degraded', down_since: null })
  })

  test('is down at once when its key is refused; a new key is another matter', async () => {
    upstream.refused.add(FIRST_KEY)
    await calls(1)
    expect(await health()).toMatchObject({ state: 'down', errors: 1 })
    await duet.admin('POST', `/api/channels/${name}/keys`, { api_key: SECOND_KEY })
    const { health: all, keys } = await channelOf(duet, name)
    expect(all).toMatchObject({ state: 'degraded', requests: 0, last_error: expect.stringContaining('refused') })
    expect(keys).toMatchObject([{ health: { state: 'down' } }, { health: { state: 'unused' } }])

    await duet.admin('DELETE', `/api/channels/${name}/keys/${keys[0].id}`)
    await calls(1)
    expect(await channelOf(duet, name)).toMatchObject({
      health: { state: 'healthy', requests: 1 },
      keys: [{ health: { state: 'healthy', requests: 1 } }],
    })
  })

  test('is judged by what is the upstream’s fault: not by requests that it rightly refuses', async () => {
    upstream.mood.status = 400
    await calls(3)
    expect(await health()).toMatchObject({ state: 'unused', requests: 0 })
    upstream.mood.status = 429
    await calls(1)
    expect(await health()).toMatchObject({
      state: 'degraded',
      errors: 1,
      last_error: expect.stringContaining('limiting'),
    })
  })

  test('is remembered through changes that have nothing to do with it, and shown as paused while it is', async () => {
    await calls(2)
    await duet.admin('PATCH', `/api/channels/${name}`, { weight: 5 })
    await duet.admin('PUT', `/api/channels/${name}/paused`, { paused: true })
    expect(await health()).toMatchObject({ state: 'paused', requests: 2 })
    await duet.admin('PUT', `/api/channels/${name}/paused`, { paused: false })
    expect(await health()).toMatchObject({ state: 'healthy', requests: 2 })
  })
})

describe('x-duet-channel', () => {
  test('tells admins which channel answered, and nobody else', async () => {
    const other = await startDuet()
    await addAcme(other, upstream.base)
    const { key } = await newCaller(other)
    for (const more of [{}, { stream: true }]) {
      expect((await chat(other, MODEL, more)).headers.get('x-duet-channel')).toBe('acme')
      const answer = await chat(other, MODEL, more, key)
      expect([answer.status, answer.headers.get('x-duet-channel')]).toEqual([200, null])
    }
    await other.stop()
  })
})
