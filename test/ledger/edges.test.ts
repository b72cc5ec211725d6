import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { STORE } from '../support/databases.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, framesOf, MESSAGES, post, user } from '../support/http.ts'
import { openTablesOf } from '../support/stores.ts'
import { eventStream, type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import { chatFrame, messagesFrame, vendorBody } from '../support/vendor.ts'
import { newCaller } from '../support/wire.ts'
import { amountOf } from './stage.ts'

/** Cases in which money would be lost, invented or waited for in vain, if nobody had thought of them. */

let duet: Duet
let upstream: ScriptedUpstream
let answer: (visit: UpstreamVisit) => Response | Promise<Response>

beforeAll(async () => {
  upstream = scriptUpstream(visit => answer(visit))
  duet = await startDuet({
    config: `
models:
  - { id: acme/free-output, price: { input: 1, output: 0 }, max_output_tokens: 64000 }
  - { id: acme/roomy, price: { input: 1, output: 4 }, max_output_tokens: 64000 }
  - { id: acme/small, price: { input: 1, output: 4 }, max_output_tokens: 1000 }
channels:
  - { name: main, protocol: messages, base_url: "${upstream.base}", models: [acme/free-output] }
  - { name: other, protocol: chat, base_url: "${upstream.base}", models: [acme/small, acme/roomy] }
`,
  })
})
afterAll(async () => {
  await duet.stop()
  await upstream.stop()
})

const start = (inputTokens: number) =>
  messagesFrame('message_start', {
    message: {
      ...{ id: 'msg', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null },
      ...{ stop_sequence: null, usage: { input_tokens: inputTokens, output_tokens: 0 } },
    },
  })
const textFrames = (text: string) => [
  messagesFrame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  messagesFrame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  messagesFrame('content_block_stop', { index: 0 }),
]
const ending = (outputTokens: number) => [
  messagesFrame('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: outputTokens } }),
  messagesFrame('message_stop'),
]

test('a stream whose prompt upstream counts higher than we did goes on, also where output is free', async () => {
  answer = () => eventStream([start(5_000), ...textFrames('Hello'), ...ending(2)])
  const { text, headers } = await post(duet, MESSAGES, {
    ...{ model: 'acme/free-output', max_tokens: 50_000, stream: true, messages: user('Hi') },
  })
  expect(framesOf(text).at(-1)?.event).toBe('message_stop')
  const { body } = await duet.admin('GET', `/api/usage/${headers.get('x-request-id')}`)
  expect(body).toMatchObject({ status: 'ok', cost: '0.005', tokens: { input: 5_000, output: 2 } })
})

describe('an account that cannot pay for all that was asked for', () => {
  const PROMPT = 20n * 1_000n

  /** Digits: a token each, where their length tells of a quarter. */
  const digits = (count: number) => Array.from({ length: count }, () => chatFrame({ delta: { content: '7' } }))
  const finished = (tokens: number) => [
    chatFrame({ delta: {}, finish_reason: 'length' }),
    chatFrame({}, { choices: [], usage: { prompt_tokens: 5, completion_tokens: tokens, total_tokens: 5 + tokens } }),
    'data: [DONE]\n\n',
  ]

  test('is never overdrawn by a stream that is denser than we count: its upstream knows how far the money goes', async () => {
    answer = ({ body }) => eventStream([...digits(body.max_tokens), ...finished(body.max_tokens)])
    const { account, key } = await newCaller(duet, { balance: '0.022' })
    const ask = { model: 'acme/roomy', max_tokens: 20_000, stream: true, messages: user('Hi') }
    const { headers } = await post(duet, CHAT, ask, { key })
    const told = upstream.requests.at(-1)?.body.max_tokens
    expect(told).toBeLessThanOrEqual(5_500)
    expect(told).toBeGreaterThan(5_000)
    const { body } = await duet.admin('GET', `/api/usage/${headers.get('x-request-id')}`)
    expect(body).toMatchObject({ status: 'ok', ending: 'funds', source: 'upstream', tokens: { output: told } })
    const { balance } = (await duet.admin('GET', `/api/accounts/${account}`)).body
    expect(amountOf(balance)).toBeGreaterThanOrEqual(0n)
    expect(amountOf(balance)).toBeLessThan(PROMPT)
  })

  test('pays no more than was held for a whole answer that only we have counted', async () => {
    const body = { ...vendorBody('chat', 'word '.repeat(9_000)), usage: undefined }
    answer = () => Response.json(body)
    const { account, key } = await newCaller(duet, { balance: '0.0003' })
    const asked = { model: 'acme/roomy', max_tokens: 20, messages: user('Hi') }
    expect((await post(duet, CHAT, asked, { key })).status).toBe(200)
    const { balance, held } = (await duet.admin('GET', `/api/accounts/${account}`)).body
    expect(amountOf(balance)).toBeGreaterThanOrEqual(0n)
    expect(held).toBe('0.00')
  })
})

test('a key that is revoked in mid-stream uses up what it holds, and gets no more', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const words = (text: string) => chatFrame({ delta: { content: text } })
  answer = () => eventStream([words('begin'), promise as Promise<unknown>, ...Array(40).fill(words('x'.repeat(4_000)))])
  const { body: key } = await duet.admin('POST', '/api/keys', { account: 'default', name: 'to be revoked' })
  const response = await fetch(duet.url + CHAT, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}` },
    body: JSON.stringify({ model: 'acme/roomy', max_tokens: 60_000, stream: true, messages: user('Hi') }),
  })
  expect((await duet.admin('DELETE', `/api/keys/${key.id}`)).status).toBe(204)
  resolve()
  const frames = framesOf(await response.text())
  expect(frames.flatMap(({ json }) => json?.choices?.[0]?.finish_reason ?? [])).toEqual(['length'])
  const { body } = await duet.admin('GET', `/api/usage/${response.headers.get('x-request-id')}`)
  expect(body).toMatchObject({ status: 'ok', ending: 'funds' })
  expect(body.tokens.output).toBeLessThanOrEqual(4_096 + 10)
})

test("a caller's limit beyond the model's own is neither held nor passed on", async () => {
  answer = () => Response.json(vendorBody('chat'))
  await post(duet, CHAT, { model: 'acme/small', max_tokens: 32_000, messages: user('Hi') })
  expect(upstream.requests.at(-1)?.body.max_tokens).toBe(1_000)
})

describe('deposits', () => {
  test('half a character is refused: what is hashed must be what is read again', async () => {
    const half = JSON.parse('"cut \\ud83d"')
    for (const fields of [{ note: half }, { source: half }]) {
      const { status, body } = await duet.admin('POST', '/api/accounts/default/topups', { amount: '1', ...fields })
      expect([status, body.error.param]).toEqual([422, Object.keys(fields)[0]])
    }
    expect((await duet.admin('GET', '/api/ledger/verify')).body).toMatchObject({ ok: true })
  })

  test('a repeat near the largest balance there may be is a repeat, and a new one is refused', async () => {
    const { account } = await newCaller(duet)
    const topUp = (source: string) =>
      duet.admin('POST', `/api/accounts/${account}/topups`, { amount: '600000000', source })
    expect((await topUp('A')).status).toBe(201)
    expect((await topUp('A')).status).toBe(200)
    expect(await topUp('B')).toMatchObject({ status: 422, body: { error: { param: 'amount' } } })
  })

  test('many that are too large together are not admitted one by one', async () => {
    const { account } = await newCaller(duet)
    const topUp = () => duet.admin('POST', `/api/accounts/${account}/topups`, { amount: '300000000' })
    const statuses = (await Promise.all(Array.from({ length: 8 }, topUp))).map(({ status }) => status)
    expect(statuses.filter(status => status === 201)).toHaveLength(3)
    expect(statuses.filter(status => status === 422)).toHaveLength(5)
  })
})

test('a key that is revoked while the body of a request arrives cannot spend any more', async () => {
  answer = () => Response.json(vendorBody('chat'))
  const before = upstream.requests.length
  const { body: key } = await duet.admin('POST', '/api/keys', { account: 'default', name: 'slow' })
  const text = JSON.stringify({ model: 'acme/small', messages: user('Hi') })
  const { hostname, port } = new URL(duet.url)
  const socket = connect(Number(port), hostname)
  let said = ''
  socket.on('data', chunk => {
    said += chunk
  })
  const closed = new Promise(resolve => socket.on('close', resolve))
  const head = ['POST /v1/chat/completions HTTP/1.1', `host: ${hostname}`, `authorization: Bearer ${key.key}`]
  socket.write(`${[...head, `content-length: ${text.length}`, 'connection: close'].join('\r\n')}\r\n\r\n`)
  socket.write(text.slice(0, 10))
  await Bun.sleep(100)
  expect((await duet.admin('DELETE', `/api/keys/${key.id}`)).status).toBe(204)
  socket.write(text.slice(10))
  await closed
  expect(said).toStartWith('HTTP/1.1 401')
  expect(upstream.requests.length).toBe(before)
})

test('a first start that was killed before the money came is made good by the next one', async () => {
  const first = await startDuet()
  await first.stop()
  const tables = await openTablesOf(first.folder)
  await tables.run('DELETE FROM entries')
  if (STORE === 'postgres') await tables.run('DELETE FROM deposits')
  await tables.run(`UPDATE accounts SET balance = 0, entries = 0, head = ''`)
  await tables.close()
  const next = await first.restart()
  expect((await next.admin('GET', '/api/accounts/default')).body.balance).toBe('100.00')
  await next.stop()
  const last = await next.restart()
  expect(amountOf((await last.admin('GET', '/api/accounts/default')).body.balance)).toBe(100_000_000_000n)
  await last.stop()
})

test('the end of a like chat stream waits for the bill, whatever stands in its last chunk', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  answer = () =>
    eventStream([
      chatFrame({ delta: { role: 'assistant', content: 'Hello' } }),
      chatFrame({ delta: { content: ' world' }, finish_reason: 'stop' }),
      promise as Promise<unknown>,
      'data: [DONE]\n\n',
    ])
  const response = await fetch(duet.url + CHAT, {
    method: 'POST',
    headers: { authorization: `Bearer ${duet.key}` },
    body: JSON.stringify({ model: 'acme/small', stream: true, messages: user('Hi') }),
  })
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = decoder.decode((await reader?.read())?.value)
  expect(text).toContain('Hello')
  expect(text).not.toContain('finish_reason":"stop')
  resolve()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
    text += decoder.decode(part.value)
  const reasons = framesOf(text).flatMap(({ json }) => json?.choices?.[0]?.finish_reason ?? [])
  expect(reasons).toEqual(['stop'])
  expect(framesOf(text).map(({ json }) => json?.choices?.[0]?.delta?.content ?? '')).toContain(' world')
})
