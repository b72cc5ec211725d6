import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { type Answer, CHAT, MESSAGES, post } from '../support/http.ts'
import { eventStream, type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import { openingFrames, protocolOf, vendorAnswer } from '../support/vendor.ts'
import { ask, eventually, expectError, newCaller, type ProtocolName } from '../support/wire.ts'
import { expectSound, expectVerified, settledBooks } from './support.ts'

/** Which upstream gets a request, which one gets it next, and who is left alone. */

/** Each model with the channels that serve it, as they stand in the file. */
const MODELS: Readonly<Record<string, readonly string[]>> = {
  order: ['near', 'far: { priority: 1 }'],
  mixed: ['chatty', 'wordy: { priority: 1, protocol: messages }'],
  named: ['first: { name: large-1 }', 'second: { priority: 1, name: large-2 }'],
  grouped: ['ours', 'theirs: { groups: [gold] }'],
  keyed: ['rotating: { keys: [key-alpha, key-beta, key-gamma] }'],
  refused: ['locked: { keys: [key-bad, key-good] }'],
  penniless: ['broke: { keys: [key-bad] }', 'rich: { priority: 1 }'],
  busy: ['limited: { keys: [key-busy, key-idle] }'],
  alone: ['only: { breaker: "{ failures: 2, cool_down: 300ms }" }'],
  resting: ['sleepy'],
  lost: ['careless'],
  late: ['slow: { first_byte: 60s }', 'spare: { priority: 1 }'],
  begun: ['breaking', 'unused: { priority: 1 }'],
  picky: ['proud', 'other: { priority: 1 }'],
  strict: ['direct', 'lossy: { priority: 1, protocol: messages }'],
  charged: ['poor', 'able: { priority: 1 }'],
  reloaded: ['before'],
  shared: ['one: { keys: [key-empty] }', 'two: { priority: 1, keys: [key-empty] }'],
  crowded: ['recovering: { breaker: "{ failures: 1, cool_down: 200ms }" }'],
  unfinished: ['halting: { breaker: "{ failures: 2, cool_down: 60s }" }'],
  down: ['asleep: { breaker: "{ failures: 1, cool_down: 60s }" }'],
  inband: ['strange: { breaker: "{ failures: 2, cool_down: 60s }" }'],
}

interface ChannelFields {
  readonly priority?: number
  readonly protocol?: ProtocolName
  readonly name?: string
  readonly groups?: readonly string[]
  readonly keys?: readonly string[]
  readonly breaker?: string
  readonly first_byte?: string
}

function channelLine(base: string, model: string, text: string): string {
  const [name = '', ...rest] = text.split(':')
  const fields = (rest.length > 0 ? Bun.YAML.parse(rest.join(':')) : {}) as ChannelFields
  const { priority = 0, protocol = 'chat', groups = ['default'], keys, breaker, first_byte = '5s' } = fields
  const known = fields.name ?? model
  return (
    `  - { name: ${name}, protocol: ${protocol}, base_url: ${base}/${name}, priority: ${priority}, ` +
    `groups: [${groups.join()}], models: { acme/${model}: ${known} }, timeout: { first_byte: ${first_byte} }` +
    `${keys ? `, api_keys: [${keys.join()}]` : ''}${breaker ? `, breaker: ${breaker}` : ''} }`
  )
}

const configOf = (base: string): string => `
models:
${Object.keys(MODELS)
  .map(model => `  - { id: acme/${model}, price: { input: 1, output: 4 } }`)
  .join('\n')}
channels:
${Object.entries(MODELS)
  .flatMap(([model, channels]) => channels.map(text => channelLine(base, model, text)))
  .join('\n')}
`

type Behaviour = (visit: UpstreamVisit) => Response | Promise<Response>

let duet: Duet
let upstream: ScriptedUpstream
/** What a channel does; one that is not here answers as it should. */
const moods = new Map<string, Behaviour>()

beforeAll(async () => {
  upstream = scriptUpstream(visit => (moods.get(channelOf(visit)) ?? vendorAnswer)(visit))
  duet = await startDuet({ config: configOf(upstream.base) })
})
afterAll(async () => {
  expect(await duet.stop()).toBe(0)
  await upstream.stop()
})

const channelOf = ({ path }: UpstreamVisit): string => path.split('/')[2] ?? ''
const keyOf = ({ headers }: UpstreamVisit): string => headers.get('authorization')?.replace('Bearer ', '') ?? ''
const visitsOf = (...names: string[]): UpstreamVisit[] =>
  upstream.requests.filter(visit => names.includes(channelOf(visit)))

const fails =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  () =>
    new Response('{"error":{"message":"no"}}', { status, headers })

/** A refusal for those whose key is named so. */
const failsFor =
  (secret: string, status: number, headers: Record<string, string> = {}): Behaviour =>
  visit =>
    keyOf(visit) === secret ? fails(status, headers)(visit) : vendorAnswer(visit)

const say = (model: string, more: object = {}, init: RequestInit & { key?: string } = {}): Promise<Answer> =>
  post(duet, CHAT, ask('chat', `acme/${model}`, 'Hi', more), init)

async function attemptsOf({ headers }: Answer): Promise<JsonBody[]> {
  const { body } = await duet.admin('GET', `/api/usage/${headers.get('x-request-id')}`)
  return body.receipt.attempts.map(({ channel, status }: JsonBody) => [channel, status])
}

describe('the order of channels', () => {
  test('is by priority: the next number serves only what the first could not', async () => {
    for (let call = 0; call < 5; call++) expect((await say('order')).status).toBe(200)
    expect([visitsOf('near').length, visitsOf('far').length]).toEqual([5, 0])
    moods.set('near', fails(500))
    const answer = await say('order')
    expect(answer.status).toBe(200)
    expect(await attemptsOf(answer)).toEqual([
      ['near', 'upstream_error'],
      ['far', 'ok'],
    ])
    moods.delete('near')
  })

  for (const path of [CHAT, MESSAGES]) {
    for (const stream of [false, true]) {
      test(`crosses protocols: ${path}, ${stream ? 'streamed' : 'whole'}`, async () => {
        moods.set('chatty', fails(502))
        const answer = await post(duet, path, { ...ask('messages', 'acme/mixed', 'Hi'), stream })
        expect([answer.status, answer.text.includes('morning')]).toEqual([200, true])
        const { body: row } = await duet.admin('GET', `/api/usage/${answer.headers.get('x-request-id')}`)
        expect(row).toMatchObject({ channel: 'wordy', upstream_protocol: 'messages', status: 'ok' })
        expect(row.receipt.attempts).toMatchObject([
          { channel: 'chatty', protocol: 'chat' },
          { channel: 'wordy', protocol: 'messages' },
        ])
      })
    }
  }

  test('gives each channel the name that it knows the model by', async () => {
    moods.set('first', fails(503))
    const { status, body } = await say('named')
    expect([status, body.model]).toEqual([200, 'acme/named'])
    expect(visitsOf('first', 'second').map(({ body: sent }) => sent.model)).toEqual(['large-1', 'large-2'])
  })

  test('has no place for channels of other groups, not even when all others fail', async () => {
    moods.set('ours', fails(500))
    expectError(await say('grouped'), { status: 502, code: 'upstream_error' })
    expect(visitsOf('theirs')).toHaveLength(0)
    const caller = await newCaller(duet, { group: 'gold' })
    expect((await say('grouped', {}, { key: caller.key })).status).toBe(200)
    expect(visitsOf('theirs')).toHaveLength(1)
  })
})

describe('the keys of a channel', () => {
  test('take turns', async () => {
    for (let call = 0; call < 30; call++) await say('keyed')
    const used = visitsOf('rotating').map(keyOf)
    for (const key of ['key-alpha', 'key-beta', 'key-gamma']) {
      expect(used.filter(name => name === key)).toHaveLength(10)
    }
  })

  for (const status of [401, 402, 403]) {
    test(`are taken out one by one when the vendor says ${status}; the caller notices nothing`, async () => {
      const name = 'locked'
      moods.set(name, failsFor('key-bad', status))
      for (const paused of [true, false]) await duet.admin('PUT', `/api/channels/${name}/paused`, { paused })
      const before = visitsOf(name).length
      for (let call = 0; call < 6; call++) expect((await say('refused')).status).toBe(200)
      const used = visitsOf(name).slice(before).map(keyOf)
      expect(used.filter(key => key === 'key-bad')).toHaveLength(1)
      expect(used.filter(key => key === 'key-good')).toHaveLength(6)
    })
  }

  test('that were refused are used again once an operator has tested the channel', async () => {
    moods.delete('locked')
    const before = visitsOf('locked').length
    const { body } = await duet.admin('POST', '/api/channels/locked/test', {})
    expect(body.ok).toBe(true)
    for (let call = 0; call < 4; call++) await say('refused')
    const used = visitsOf('locked').slice(before).map(keyOf)
    expect(used.filter(key => key === 'key-bad')).toHaveLength(4)
  })

  test('of one channel that are all out leave the next channel', async () => {
    moods.set('broke', fails(402))
    for (let call = 0; call < 3; call++) expect((await say('penniless')).status).toBe(200)
    expect([visitsOf('broke').length, visitsOf('rich').length]).toEqual([1, 3])
  })

  test('that two channels share are tried with both', async () => {
    moods.set('one', fails(429))
    expect((await say('shared')).status).toBe(200)
    expect(visitsOf('two')).toHaveLength(1)
  })

  test('that ask too often are left alone for as long as the vendor says', async () => {
    moods.set('limited', failsFor('key-busy', 429, { 'retry-after': '60' }))
    for (let call = 0; call < 6; call++) expect((await say('busy')).status).toBe(200)
    expect(visitsOf('limited').filter(visit => keyOf(visit) === 'key-busy')).toHaveLength(1)
  })
})

describe('a model whose channels are all left alone', () => {
  test('is still in the catalog: 503 with the time to come back, then one request finds out', async () => {
    moods.set('only', fails(500))
    for (let call = 0; call < 2; call++) expectError(await say('alone'), { status: 502, code: 'upstream_error' })
    const asked = visitsOf('only').length
    const refused = await say('alone')
    expectError(refused, { status: 503, code: 'upstream_unavailable' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(refused.headers.get('x-should-retry')).toBeNull()
    expect(visitsOf('only')).toHaveLength(asked)
    const { body: listed } = await duet.admin('GET', '/api/models')
    expect(listed.data.map(({ id }: JsonBody) => id)).toContain('acme/alone')

    moods.delete('only')
    const back = await eventually(
      () => say('alone'),
      ({ status }) => status === 200,
    )
    expect(back.status).toBe(200)
    expect((await say('alone')).status).toBe(200)
  })

  test('is asked by one of many when its rest is over', async () => {
    moods.set('recovering', fails(500))
    await say('crowded')
    await Bun.sleep(250)
    moods.set('recovering', async visit => {
      await Bun.sleep(300)
      return fails(500)(visit)
    })
    const answers = await Promise.all(Array.from({ length: 30 }, () => say('crowded')))
    expect(visitsOf('recovering')).toHaveLength(2)
    expect(answers.filter(({ status }) => status === 502)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 503)).toHaveLength(29)
  })

  test('is refused before anything else is said against the request', async () => {
    moods.set('asleep', fails(500))
    await say('down')
    const caller = await newCaller(duet, { models: ['acme/order'] })
    expectError(await say('down', {}, { key: caller.key }), { status: 503, code: 'upstream_unavailable' })
    expectError(await post(duet, CHAT, { model: 'acme/down' }), { status: 503, code: 'upstream_unavailable' })
  })

  test('is one whose upstream begins every answer and finishes none', async () => {
    for (let call = 0; call < 2; call++) {
      moods.set('halting', visit => eventStream([...openingFrames(protocolOf(visit)), Bun.sleep(100)], 'reset'))
      expect((await say('unfinished', { stream: true })).text).toContain('upstream_error')
    }
    expectError(await say('unfinished', { stream: true }), { status: 503, code: 'upstream_unavailable' })
  })

  test('is not one whose upstream finds fault with requests, even in the middle of an answer', async () => {
    const error = { message: 'too long', type: 'invalid_request_error', code: 'context_length_exceeded' }
    moods.set('strange', () => Response.json({ error }))
    for (let call = 0; call < 3; call++) expectError(await say('inband'), { status: 502, code: 'upstream_error' })
    moods.delete('strange')
    expect((await say('inband')).status).toBe(200)
  })

  test('asks callers to wait for as long as its vendor wants to be left alone', async () => {
    moods.set('sleepy', fails(503, { 'retry-after': '120' }))
    expectError(await say('resting'), { status: 502, code: 'upstream_error' })
    const refused = await say('resting')
    expectError(refused, { status: 503, code: 'upstream_unavailable' })
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(100, 121)
    expect(visitsOf('sleepy')).toHaveLength(1)
  })

  test('is asked again at once when an operator has tested its channel', async () => {
    moods.delete('sleepy')
    const { body } = await duet.admin('POST', '/api/channels/sleepy/test', {})
    expect(body.ok).toBe(true)
    expect((await say('resting')).status).toBe(200)
  })
})

describe('one upstream', () => {
  test('that loses the connection before it answers is asked once more, and the record says so', async () => {
    let calls = 0
    moods.set('careless', visit => (++calls === 1 ? eventStream([], 'reset') : vendorAnswer(visit)))
    const answer = await say('lost', { stream: true })
    expect([answer.status, answer.text.includes('morning')]).toEqual([200, true])
    expect(await attemptsOf(answer)).toEqual([
      ['careless', 'upstream_error'],
      ['careless', 'ok'],
    ])
  })
})

describe('a request', () => {
  test('whose caller does not wait is charged for the prompt that was read', async () => {
    moods.set('slow', () => new Promise<Response>(() => {}))
    const caller = await newCaller(duet)
    const answer = await say('late', {}, { key: caller.key, headers: { 'x-stainless-read-timeout': '0.3' } })
    expectError(answer, { status: 504, code: 'upstream_timeout' })
    const books = await settledBooks(duet, caller.account, 1)
    expectSound(books)
    expect(books.rows).toMatchObject([{ status: 'upstream_timeout', source: 'estimated' }])
    expect(Number(books.rows[0]?.cost)).toBeGreaterThan(0)
    const metrics = await (await fetch(`${duet.url}/metrics`)).text()
    expect(metrics).toContain('duet_upstream_requests_total{channel="slow",status="caller_timeout"}')
  })

  test('waits no longer than its caller does, over all upstreams, and that is nobody’s fault', async () => {
    moods.set('slow', () => new Promise<Response>(() => {}))
    const answer = await say('late', {}, { headers: { 'x-stainless-timeout': '1' } })
    expectError(answer, { status: 504, code: 'upstream_timeout' })
    expect(visitsOf('spare')).toHaveLength(0)
    const { body: channels } = await duet.admin('GET', '/api/channels')
    const slow = channels.data.find(({ name }: JsonBody) => name === 'slow')
    expect(slow.health).toMatchObject({ requests: 0, errors: 0 })
  })

  for (const protocol of ['chat', 'messages'] as const) {
    test(`never goes to another upstream once its answer has begun: ${protocol}`, async () => {
      const { promise: isRead, resolve: hasRead } = Promise.withResolvers<void>()
      moods.set('breaking', visit => eventStream([...openingFrames(protocolOf(visit)), isRead], 'reset'))
      const path = protocol === 'chat' ? CHAT : MESSAGES
      const request = ask(protocol, 'acme/begun', 'Hi', { stream: true })
      const answer = await fetch(duet.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${duet.key}` },
        body: JSON.stringify(request),
      })
      let text = ''
      for await (const chunk of answer.body ?? []) {
        text += new TextDecoder().decode(chunk)
        if (text.includes('morning')) hasRead()
      }
      expect([answer.status, text.includes('upstream_error')]).toEqual([200, true])
      expect(visitsOf('unused')).toHaveLength(0)
      const { body: row } = await duet.admin('GET', `/api/usage/${answer.headers.get('x-request-id')}`)
      expect(row).toMatchObject({ status: 'upstream_error', channel: 'breaking' })
      expect(Number(row.cost)).toBeGreaterThan(0)
    })
  }

  for (const status of [400, 404, 413, 422]) {
    test(`that an upstream refuses with ${status} is refused, and shown to nobody else`, async () => {
      moods.set('proud', fails(status))
      const before = visitsOf('other').length
      expectError(await say('picky'), { status: 400, code: 'upstream_invalid_request' })
      expect(visitsOf('other')).toHaveLength(before)
    })
  }

  test('that the next upstream cannot be given whole fails as it did with the first', async () => {
    moods.set('direct', fails(500))
    const answer = await say('strict', { logprobs: true }, { headers: { 'x-duet-strict': 'true' } })
    expectError(answer, { status: 502, code: 'upstream_error' })
    expect(visitsOf('lossy')).toHaveLength(0)
    expect((await say('strict', { logprobs: true })).headers.get('x-duet-dropped')).toBe('logprobs')
  })

  test('is charged once, for the upstream that answered', async () => {
    moods.set('poor', fails(500))
    const caller = await newCaller(duet)
    const answer = await say('charged', {}, { key: caller.key })
    expect(answer.status).toBe(200)
    const books = await settledBooks(duet, caller.account, 1)
    expectSound(books)
    expect(books.rows).toMatchObject([{ channel: 'able', status: 'ok', source: 'upstream' }])
    expect(books.entries.filter(({ kind }) => kind === 'charge')).toHaveLength(1)
    await expectVerified(duet)
  })
})

describe('a reload', () => {
  test('moves calls to another upstream at once; a faulty file moves nothing', async () => {
    expect((await say('reloaded')).status).toBe(200)
    const file = join(duet.folder, 'duet.yaml')
    const moved = configOf(upstream.base).replace('/before,', '/after,')
    writeFileSync(file, `${moved}\nnonsense: true\n`)
    process.kill(duet.pid, 'SIGHUP')
    await eventually(
      () => duet.output().includes('the last good configuration stays in use'),
      isTold => isTold,
    )
    expect((await say('reloaded')).status).toBe(200)
    expect([visitsOf('before').length, visitsOf('after').length]).toEqual([2, 0])
    const { status } = await duet.admin('POST', '/api/config/reload')
    expect(status).toBe(422)

    writeFileSync(file, moved)
    expect((await duet.admin('POST', '/api/config/reload')).status).toBe(200)
    expect((await say('reloaded')).status).toBe(200)
    expect([visitsOf('before').length, visitsOf('after').length]).toEqual([2, 1])
  })
})
