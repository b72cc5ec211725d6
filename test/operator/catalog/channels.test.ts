import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../../support/duet.ts'
import { send } from '../../support/http.ts'
import { storedBytes } from '../../support/stored.ts'
import { eventually, expectError } from '../../support/wire.ts'
import { addAcme, channelOf, chat, FIRST_KEY, FIRST_KEY_HINT, fickleUpstream, MODEL, SECOND_KEY } from './stage.ts'

const upstream = fickleUpstream()
afterAll(() => upstream.stop())

describe('a channel of the console', () => {
  let duet: Duet
  beforeAll(async () => {
    duet = await startDuet()
  })
  afterAll(() => duet.stop())

  test('takes over from the sandbox, and the sandbox from it', async () => {
    expect((await channelOf(duet, 'sandbox-chat')).origin).toBe('sandbox')
    const made = await addAcme(duet, upstream.base)
    expect(made).toMatchObject({
      name: 'acme',
      origin: 'console',
      vendor: null,
      paused: false,
      base_url: upstream.base,
    })
    expect(made.settings).toEqual({ protocol: 'chat', base_url: upstream.base, models: { [MODEL]: 'swift-2-large' } })

    const answer = await chat(duet)
    expect([answer.status, answer.headers.get('x-duet-sandbox')]).toEqual([200, null])
    expect(upstream.requests.at(-1)?.body.model).toBe('swift-2-large')
    expect(upstream.keys().at(-1)).toBe(`Bearer ${FIRST_KEY}`)
    expect(await channelOf(duet, 'sandbox-chat')).toBeUndefined()
    expect((await chat(duet, 'openai/gpt-4.1')).status).toBe(503)

    expect((await duet.admin('DELETE', '/api/channels/acme')).status).toBe(204)
    expect((await chat(duet, 'openai/gpt-4.1')).headers.get('x-duet-sandbox')).toBe('true')
    expect((await duet.admin('DELETE', '/api/channels/acme')).status).toBe(404)
    expect((await duet.admin('DELETE', `/api/models/${encodeURIComponent(MODEL)}`)).status).toBe(204)
  })

  test('is tested in both protocols, which counts as nothing', async () => {
    await addAcme(duet, upstream.base)
    const { body } = await duet.admin('POST', '/api/channels/acme/test', {})
    expect(body).toMatchObject({ channel: 'acme', model: MODEL, ok: true })
    expect((await channelOf(duet)).health).toMatchObject({ state: 'unused', requests: 0 })
  })

  test('is changed in the words of the file; null takes back what was said', async () => {
    const change = { priority: 2, weight: 3, groups: ['default', 'vip'], timeout: { idle: '7s' } }
    const changed = await duet.admin('PATCH', '/api/channels/acme', change)
    expect(changed).toMatchObject({ status: 200, body: { priority: 2, weight: 3, timeout: { idle_ms: 7_000 } } })
    const back = await duet.admin('PATCH', '/api/channels/acme', { timeout: null, weight: null })
    expect(back.body).toMatchObject({ priority: 2, weight: 1, timeout: { idle_ms: 60_000 } })
    expect(back.body.settings).not.toHaveProperty('timeout')
    expect((await chat(duet)).status).toBe(200)
  })

  test('says everything that is wrong with it at once, and nothing is stored', async () => {
    const faulty = {
      ...{ name: 'broken', protocol: 'grpc', base_url: 'ftp://nowhere', api_keys: ['has a space'], wieght: 2 },
      models: ['no/where'],
    }
    const { status, body } = await duet.admin('POST', '/api/channels', faulty)
    expect([status, body.error.code]).toEqual([422, 'invalid_field'])
    for (const fault of [
      'protocol: ',
      'base_url: must be an http or https address',
      'api_keys[0]: must be printable characters without spaces',
      'wieght: unknown key',
      'models: there is no model no/where',
    ])
      expect(body.error.message).toContain(fault)
    expect(await channelOf(duet, 'broken')).toBeUndefined()
    const patched = await duet.admin('PATCH', '/api/channels/acme', { weight: -1, base_url: 'nowhere' })
    expect([patched.status, patched.body.error.param]).toEqual([422, 'api_keys'])
    expect((await duet.admin('PATCH', '/api/channels/acme', { weight: -1 })).body.error.message).toBe(
      'weight: must be above zero',
    )
    expect((await channelOf(duet)).weight).toBe(1)
  })

  for (const name of ['.hidden', '..', '-dashed', '--help', '', 'a/b', 'a b', 'x'.repeat(65)]) {
    test(`cannot be called ${JSON.stringify(name)}`, async () => {
      const { status, body } = await duet.admin('POST', '/api/channels', {
        name,
        vendor: 'ollama',
        models: ['openai/gpt-4.1'],
      })
      expect([status, body.error.code]).toEqual([422, 'invalid_field'])
      expect(body.error.message).toStartWith('name: must be up to 64 letters, digits, dots, dashes or underscores')
      expect(await channelOf(duet, name)).toBeUndefined()
    })
  }

  for (const name of ['a.b-c_d', '_under', '7', 'x'.repeat(64)]) {
    test(`can be called ${name}`, async () => {
      const { status } = await duet.admin('POST', '/api/channels', {
        name,
        vendor: 'ollama',
        models: ['openai/gpt-4.1'],
      })
      expect([status, (await channelOf(duet, name)).name]).toEqual([201, name])
      expect((await duet.admin('DELETE', `/api/channels/${name}`)).status).toBe(204)
    })
  }

  test('cannot be made twice, renamed, or lose a model that it serves', async () => {
    const again = await duet.admin('POST', '/api/channels', { name: 'acme', vendor: 'ollama', models: [MODEL] })
    expect([again.status, again.body.error.code]).toEqual([409, 'conflict'])
    expect((await duet.admin('PATCH', '/api/channels/acme', { name: 'other' })).status).toBe(422)
    const removed = await duet.admin('DELETE', `/api/models/${encodeURIComponent(MODEL)}`)
    expect([removed.status, removed.body.error.message]).toEqual([
      422,
      `channels.acme.models: there is no model ${MODEL}`,
    ])
  })

  test('of a vendor needs no address, serves what the vendor has, and takes no key from the environment', async () => {
    const { body } = await duet.admin('GET', '/api/vendors')
    const vendor = body.data.find(({ name }: { name: string }) => name === 'anthropic')
    expect(vendor).toMatchObject({ protocol: 'messages', base_url: 'https://api.anthropic.com/v1', keyless: false })
    expect(vendor.models).toContain('anthropic/claude-opus-4.6')

    const without = await duet.admin('POST', '/api/channels', { name: 'a', vendor: 'anthropic' })
    expect([without.status, without.body.error.message]).toEqual([422, 'api_key: is required'])
    const made = await duet.admin('POST', '/api/channels', { name: 'a', vendor: 'anthropic', api_key: SECOND_KEY })
    expect(made.body).toMatchObject({ vendor: 'anthropic', base_url: 'https://api.anthropic.com/v1' })
    expect(made.body.models['anthropic/claude-opus-4.6']).toBe('claude-opus-4-6')
    expect((await duet.admin('DELETE', '/api/channels/a')).status).toBe(204)
  })
})

describe('keys of a channel', () => {
  let duet: Duet
  beforeAll(async () => {
    duet = await startDuet()
    await addAcme(duet, upstream.base)
  })
  afterAll(() => duet.stop())
  beforeEach(() => {
    upstream.requests.length = 0
  })

  const idOfSecond = async (): Promise<string> => (await channelOf(duet)).keys[1].id

  test('are added and removed, and never shown', async () => {
    const { status, body } = await duet.admin('POST', '/api/channels/acme/keys', { api_key: SECOND_KEY })
    expect(status).toBe(201)
    expect(body.keys).toMatchObject([
      { id: expect.stringMatching(/^[0-9a-f]{12}$/), hint: FIRST_KEY_HINT, paused: false },
      { hint: '…eTwo' },
    ])
    const again = await duet.admin('POST', '/api/channels/acme/keys', { api_key: SECOND_KEY })
    expect([again.status, again.body.error.code]).toEqual([409, 'conflict'])
    expect((await duet.admin('POST', '/api/channels/acme/keys', { api_key: 'a b' })).status).toBe(422)
    expect((await duet.admin('DELETE', '/api/channels/acme/keys/000000000000')).status).toBe(404)
  })

  test('of few characters have a hint that says nothing', async () => {
    const { body } = await duet.admin('POST', '/api/channels/acme/keys', { api_key: 'short-one' })
    const { id, hint } = body.keys[2]
    expect(hint).toBe('…')
    expect((await duet.admin('DELETE', `/api/channels/acme/keys/${id}`)).status).toBe(204)
  })

  test('share the calls; one that is paused gets none', async () => {
    while (new Set(upstream.keys()).size < 2) await chat(duet)
    const paused = await duet.admin('PUT', `/api/channels/acme/keys/${await idOfSecond()}/paused`, { paused: true })
    expect(paused.body.keys[1]).toMatchObject({ paused: true, health: { state: 'paused' } })
    upstream.requests.length = 0
    for (let call = 0; call < 12; call++) await chat(duet)
    expect(new Set(upstream.keys())).toEqual(new Set([`Bearer ${FIRST_KEY}`]))
  })

  test('that are all paused leave a model listed, and refused with 503', async () => {
    const [first] = (await channelOf(duet)).keys
    await duet.admin('PUT', `/api/channels/acme/keys/${first.id}/paused`, { paused: true })
    expectError(await chat(duet), { status: 503, code: 'upstream_unavailable' })
    const { body } = await send(duet, '/v1/models')
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([MODEL])
    await duet.admin('PUT', `/api/channels/acme/keys/${first.id}/paused`, { paused: false })
    expect((await chat(duet)).status).toBe(200)
  })

  test('do not follow a channel to another address', async () => {
    const elsewhere = fickleUpstream()
    const refused = await duet.admin('PATCH', '/api/channels/acme', { base_url: elsewhere.base })
    expect([refused.status, refused.body.error.param]).toEqual([422, 'api_keys'])
    const moved = await duet.admin('PATCH', '/api/channels/acme', { base_url: elsewhere.base, api_keys: [SECOND_KEY] })
    expect([moved.status, moved.body.keys.length]).toEqual([200, 1])
    await duet.admin('PUT', `/api/channels/acme/keys/${moved.body.keys[0].id}/paused`, { paused: false })
    expect((await chat(duet)).status).toBe(200)
    expect(elsewhere.keys()).toEqual([`Bearer ${SECOND_KEY}`])
    await elsewhere.stop()
  })
})

describe('a paused channel', () => {
  test('is not called, of whatever origin, and stays paused over restarts and changes', async () => {
    const duet = await startDuet()
    const { body } = await duet.admin('PUT', '/api/channels/sandbox-chat/paused', { paused: true })
    expect(body).toMatchObject({ paused: true, health: { state: 'paused' } })
    expectError(await chat(duet, 'openai/gpt-4.1'), { status: 503, code: 'upstream_unavailable' })
    expect((await chat(duet, 'anthropic/claude-opus-4.6')).status).toBe(200)
    expect((await duet.admin('POST', '/api/config/reload')).status).toBe(200)
    expect((await chat(duet, 'openai/gpt-4.1')).status).toBe(503)
    await duet.stop()

    const later = await duet.restart()
    expect((await channelOf(later, 'sandbox-chat')).paused).toBe(true)
    await later.admin('PUT', '/api/channels/sandbox-chat/paused', { paused: false })
    expect((await chat(later, 'openai/gpt-4.1')).status).toBe(200)
    expect((await later.admin('PUT', '/api/channels/nowhere/paused', { paused: true })).status).toBe(404)
    expect((await later.admin('PUT', '/api/channels/sandbox-chat/paused', {})).status).toBe(422)
    await later.stop()
  })

  test('counts as configured: the sandbox does not step in for it', async () => {
    const duet = await startDuet()
    await addAcme(duet, upstream.base)
    await duet.admin('PUT', '/api/channels/acme/paused', { paused: true })
    expectError(await chat(duet), { status: 503, code: 'upstream_unavailable' })
    expectError(await chat(duet, 'openai/gpt-4.1'), { status: 503, code: 'model_not_found' })
    await duet.stop()
  })
})

describe('vendor keys', () => {
  test('are nowhere in clear: not in answers, not in what is printed, not in the database', async () => {
    const duet = await startDuet()
    await addAcme(duet, upstream.base, { api_keys: [FIRST_KEY, SECOND_KEY] })
    upstream.mood.status = 500
    const answers = [
      (await chat(duet)).text,
      ...(await Promise.all(
        [
          ['GET', '/api/channels'],
          ['GET', '/api/models'],
          ['POST', '/api/channels/acme/test', {}],
          ['PATCH', '/api/channels/acme', { weight: 2 }],
          ['PATCH', '/api/channels/acme', { api_keys: [FIRST_KEY], api_key: FIRST_KEY }],
          ['POST', '/api/channels/acme/keys', { api_key: FIRST_KEY }],
          ['POST', '/api/channels', { name: 'x', protocol: 'chat', base_url: 'no', api_keys: [FIRST_KEY, 1] }],
          ['GET', '/api/usage'],
        ].map(async ([method, path, body]) => JSON.stringify(await duet.admin(String(method), String(path), body))),
      )),
    ]
    upstream.mood.status = undefined
    await duet.stop()
    for (const secret of [FIRST_KEY, SECOND_KEY]) {
      for (const text of [...answers, duet.output(), await storedBytes(duet.folder)]) expect(text).not.toContain(secret)
    }
  })

  test('work again after a restart, and not with another secret, which stops nothing', async () => {
    const duet = await startDuet({ env: { DUET_SECRET: 'the-secret-of-the-first-start' } })
    await addAcme(duet, upstream.base)
    await duet.stop()
    const later = await duet.restart()
    expect((await chat(later)).status).toBe(200)
    expect(upstream.keys().at(-1)).toBe(`Bearer ${FIRST_KEY}`)
    await later.stop()

    const other = await startDuet({ folder: duet.folder, env: { DUET_SECRET: 'quite-another-secret' } })
    expect(await eventually(other.output, text => text.includes('keys cannot be opened'))).toContain('"channel":"acme"')
    const channel = await channelOf(other)
    expect(channel.health).toMatchObject({ state: 'down', last_error: expect.stringContaining('DUET_SECRET') })
    expect(channel.keys).toMatchObject([{ hint: FIRST_KEY_HINT, health: { state: 'down' } }])
    expectError(await chat(other), { status: 503, code: 'upstream_unavailable' })
    const { body: overview } = await other.admin('GET', '/api/overview?days=1')
    expect(overview.alerts).toContainEqual(expect.objectContaining({ kind: 'channel-down', channel: 'acme' }))

    expect((await other.admin('POST', '/api/channels/acme/keys', { api_key: FIRST_KEY })).status).toBe(201)
    expect((await chat(other)).status).toBe(200)
    await other.stop()
  })
})
