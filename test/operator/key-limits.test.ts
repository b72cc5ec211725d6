import { describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { answering, gate, QUESTION, unfinished, useLedger } from '../ledger/stage.ts'
import { framesOf, protocolOf } from '../pairs/wire.ts'
import type { JsonBody } from '../support/duet.ts'
import { type Answer, CHAT, MESSAGES, post, send, user } from '../support/http.ts'
import { inviteMember, signInAsOperator } from '../support/people.ts'
import { eventStream } from '../support/upstream.ts'
import { type Caller, type CallerFields, eventually, expectError, idOf, newCaller } from '../support/wire.ts'

const stage = useLedger()
const MODEL = 'acme/chat'

const limitedCaller = (limits: CallerFields): Promise<Caller> => newCaller(stage.duet, limits)

const REQUEST = { model: MODEL, messages: user(QUESTION), max_tokens: 100 }

const call = ({ key }: Pick<Caller, 'key'>, path = CHAT): Promise<Answer> => post(stage.duet, path, REQUEST, { key })

const answerAtOnce = () => {
  stage.answer = answering({ input: 1, output: 1 })
}

/** Streams that have begun, and end when they are let. */
function streamsThatWait(): () => void {
  const { open, opened } = gate()
  stage.answer = visit => {
    const protocol = protocolOf(visit)
    const begun = unfinished(protocol, { text: 'It depends.' })
    const whole = framesOf(protocol, { text: 'It depends.', finish: 'stop' })
    return eventStream([...begun, opened, ...whole.slice(begun.length)])
  }
  return open
}

async function openStream({ key }: Caller, path = CHAT): Promise<Response> {
  const response = await fetch(stage.duet.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...REQUEST, stream: true }),
  })
  expect(response.status).toBe(200)
  return response
}

const change = async ({ keyId }: Caller, limits: object): Promise<JsonBody> => {
  const { status, body } = await stage.duet.admin('PATCH', `/api/keys/${keyId}`, limits)
  expect(status).toBe(200)
  return body
}

const LIMITED = { status: 429, code: 'rate_limited', type: 'duet_api_error' } as const

const isServed = async (caller: Caller): Promise<boolean> => (await call(caller)).status === 200

describe('a key for so many requests a minute', () => {
  test('is let in so often and no more, on either protocol, and told when to come again', async () => {
    answerAtOnce()
    const caller = await limitedCaller({ max_per_minute: 4 })
    const visits = stage.visits.length
    const answers = await Promise.all([CHAT, MESSAGES, CHAT, MESSAGES, CHAT, MESSAGES].map(path => call(caller, path)))
    const refused = answers.filter(({ status }) => status === 429)
    expect([answers.filter(({ status }) => status === 200).length, refused.length]).toEqual([4, 2])
    expect(stage.visits.length).toBe(visits + 4)
    for (const answer of [...refused, await call(caller), await call(caller, MESSAGES)]) {
      expectError(answer, { ...LIMITED, message: /in a minute/ })
      const seconds = Number(answer.headers.get('retry-after'))
      expect([Number.isInteger(seconds), seconds >= 1, seconds <= 60]).toEqual([true, true, true])
    }
  })

  test('is refused before anything else is looked at, and each refusal can be found', async () => {
    answerAtOnce()
    const caller = await limitedCaller({ max_per_minute: 1 })
    await call(caller)
    const refused = await post(stage.duet, CHAT, 'no JSON at all', { key: caller.key })
    expectError(refused, LIMITED)
    const rows = await eventually(
      () => stage.usage(caller.account),
      ({ length }) => length === 2,
    )
    const row = rows.find(({ request_id }) => request_id === idOf(refused))
    expect(row).toMatchObject({ status: 'rate_limited', key: caller.keyId, cost: '0.00' })
  })

  test('lists models as often as it likes, and shares its limit with no other key', async () => {
    answerAtOnce()
    const caller = await limitedCaller({ max_per_minute: 1 })
    const { account } = caller
    const other = await stage.duet.admin('POST', '/api/keys', { account, name: 'other', max_per_minute: 1 })
    for (let times = 0; times < 3; times++) {
      expect((await send(stage.duet, '/v1/models', { key: caller.key })).status).toBe(200)
    }
    expect(await isServed(caller)).toBe(true)
    expectError(await call(caller), LIMITED)
    expect((await send(stage.duet, '/v1/models', { key: caller.key })).status).toBe(200)
    expect((await call(other.body)).status).toBe(200)
  })

  test('is told in the words of the official clients', async () => {
    answerAtOnce()
    const { key } = await limitedCaller({ max_per_minute: 1 })
    const connection = { baseURL: stage.duet.base, apiKey: key, maxRetries: 0 }
    const question = { model: MODEL, messages: [{ role: 'user' as const, content: QUESTION }], max_tokens: 100 }
    await new OpenAI(connection).chat.completions.create(question)
    const chat = await new OpenAI(connection).chat.completions.create(question).catch(error => error)
    expect(chat).toBeInstanceOf(OpenAI.RateLimitError)
    expect(chat).toMatchObject({ status: 429, code: 'rate_limited' })
    const messages = await new Anthropic(connection).messages.create(question).catch(error => error)
    expect(messages).toBeInstanceOf(Anthropic.RateLimitError)
    expect(messages.error).toMatchObject({ type: 'error', error: { code: 'rate_limited' } })
    for (const { headers } of [chat, messages]) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

describe('a key for so many requests at once', () => {
  test('has streams under way until they have ended', async () => {
    const caller = await limitedCaller({ max_concurrent: 2 })
    const end = streamsThatWait()
    const streams = [await openStream(caller), await openStream(caller, MESSAGES)]
    const refused = await call(caller)
    expectError(refused, { ...LIMITED, message: /under way/ })
    expect(refused.headers.get('retry-after')).toBe('1')
    end()
    await Promise.all(streams.map(stream => stream.text()))
    answerAtOnce()
    expect(await eventually(() => isServed(caller), Boolean)).toBe(true)
  })

  test('has its place back when the reader of a stream leaves', async () => {
    const caller = await limitedCaller({ max_concurrent: 1 })
    const end = streamsThatWait()
    const stream = await openStream(caller)
    expectError(await call(caller), LIMITED)
    answerAtOnce()
    await stream.body?.cancel()
    expect(await eventually(() => isServed(caller), Boolean)).toBe(true)
    end()
  })

  test('has its place back when a request is answered, faulty, refused or failed', async () => {
    answerAtOnce()
    const caller = await limitedCaller({ max_concurrent: 1 })
    const { key } = caller
    expect([await isServed(caller), await isServed(caller)]).toEqual([true, true])
    expect((await post(stage.duet, CHAT, 'no JSON', { key })).status).toBe(400)
    expect((await post(stage.duet, CHAT, { ...REQUEST, model: 'acme/unpriced' }, { key })).status).not.toBe(429)
    stage.answer = () => new Response('{"error":{"message":"no"}}', { status: 400 })
    for (let times = 0; times < 3; times++) expect((await call(caller)).status).toBe(400)
    answerAtOnce()
    expect(await isServed(caller)).toBe(true)
  })

  test('has a call under way that goes on for the repeat of a caller who waits no longer', async () => {
    const caller = await limitedCaller({ max_concurrent: 1 })
    const { open, opened } = gate()
    stage.answer = visit => opened.then(() => answering({ input: 1, output: 1 })(visit))
    const headers = { 'idempotency-key': 'once', 'x-stainless-timeout': '1' }
    expect((await post(stage.duet, CHAT, REQUEST, { key: caller.key, headers })).status).toBe(504)
    expectError(await call(caller), LIMITED)
    open()
    expect(await eventually(() => isServed(caller), Boolean)).toBe(true)
  })

  test('is served by an official client that waits as it is told', async () => {
    const caller = await limitedCaller({ max_concurrent: 1 })
    const end = streamsThatWait()
    const stream = await openStream(caller)
    const client = new OpenAI({ baseURL: stage.duet.base, apiKey: caller.key, maxRetries: 1 })
    const asked = client.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content: QUESTION }] })
    const refusal = (rows: readonly JsonBody[]) => rows.some(({ status }) => status === 'rate_limited')
    expect(refusal(await eventually(() => stage.usage(caller.account), refusal))).toBe(true)
    end()
    await stream.text()
    answerAtOnce()
    expect((await asked).choices).toHaveLength(1)
  })
})

describe('limits of a key', () => {
  test('are none at first, and hold, changed or removed, from the next request on', async () => {
    answerAtOnce()
    const caller = await limitedCaller({})
    expect(await change(caller, { name: 'limited' })).toMatchObject({ max_concurrent: null, max_per_minute: null })
    expect(await change(caller, { max_per_minute: 1 })).toMatchObject({ max_concurrent: null, max_per_minute: 1 })
    expect([await isServed(caller), await isServed(caller)]).toEqual([true, false])
    await change(caller, { max_per_minute: 2 })
    expect([await isServed(caller), await isServed(caller)]).toEqual([true, false])
    await change(caller, { max_per_minute: null })
    expect([await isServed(caller), await isServed(caller)]).toEqual([true, true])

    await change(caller, { max_concurrent: 2 })
    const end = streamsThatWait()
    const stream = await openStream(caller)
    expect(await change(caller, { max_concurrent: 1 })).toMatchObject({ max_concurrent: 1, max_per_minute: null })
    expectError(await call(caller), LIMITED)
    end()
    await stream.text()
  })

  test('are positive whole numbers within reason', async () => {
    const { account, keyId } = await limitedCaller({})
    for (const [field, max] of [
      ['max_concurrent', 10_000],
      ['max_per_minute', 1_000_000],
    ] as const) {
      for (const value of [0, -1, 1.5, '5', true, max + 1]) {
        const made = await stage.duet.admin('POST', '/api/keys', { account, name: 'limited', [field]: value })
        const changed = await stage.duet.admin('PATCH', `/api/keys/${keyId}`, { [field]: value })
        for (const { status, body } of [made, changed]) expect([status, body.error.param]).toEqual([422, field])
      }
      const made = await stage.duet.admin('POST', '/api/keys', { account, name: 'limited', [field]: max })
      expect([made.status, made.body[field]]).toEqual([201, max])
    }
  })

  test('are set by members for keys of their own', async () => {
    await signInAsOperator(stage.duet)
    const member = await inviteMember(stage.duet, 'lin')
    const made = await member.call('POST', '/api/keys', { name: 'own', max_concurrent: 3 })
    expect([made.status, made.body.max_concurrent]).toEqual([201, 3])
    const changed = await member.call('PATCH', `/api/keys/${made.body.id}`, { max_per_minute: 9, max_concurrent: null })
    expect(changed.body).toMatchObject({ max_concurrent: null, max_per_minute: 9 })
  })
})
