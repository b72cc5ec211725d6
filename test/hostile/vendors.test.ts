import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { type Answer, CHAT, framesOf, MESSAGES, post, user } from '../support/http.ts'
import {
  configFor,
  eventStream,
  type ScriptedUpstream,
  scriptUpstream,
  type UpstreamVisit,
} from '../support/upstream.ts'

type Dialect = 'chat' | 'messages'
type Script = (visit: UpstreamVisit) => Response | Promise<Response>

/** A gateway in front of one vendor whose next answers a test decides. */
interface Stage {
  readonly duet: Duet
  readonly upstream: ScriptedUpstream
  answer: Script
}

const stages = new Map<Dialect, Stage>()

beforeAll(async () => {
  for (const dialect of ['chat', 'messages'] as const) {
    const upstream = scriptUpstream(visit => (stages.get(dialect) as Stage).answer(visit))
    const duet = await startDuet({
      config: configFor(upstream.base, dialect, { channel: '    timeout: { idle: 1s }' }),
    })
    stages.set(dialect, { duet, upstream, answer: good(dialect) })
  }
})
afterAll(async () => {
  for (const [dialect, stage] of stages) {
    // Whatever came before: the gateway serves, holds nothing, and had no fault of its own.
    stage.answer = good(dialect)
    expect((await ask(stage, CHAT)).status).toBe(200)
    expect((await stage.duet.admin('GET', '/api/accounts/default')).body.held).toBe('0.00')
    expect(stage.duet.output()).not.toContain('internal_error')
    expect(await stage.duet.stop()).toBe(0)
    await stage.upstream.stop()
  }
})

const stageOf = (dialect: Dialect): Stage => stages.get(dialect) as Stage

const ask = ({ duet }: Stage, path: string, more: object = {}): Promise<Answer> =>
  post(duet, path, { model: 'acme/swift-2', max_tokens: 100, messages: user('Hello'), ...more })

const sse = (payloads: readonly unknown[]): string[] =>
  payloads.map(payload => `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`)

const chunk = (delta: unknown, finish_reason: string | null = null, more: object = {}) => ({
  id: 'x',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'swift-2-large',
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
})
const completion = (message: object, more: object = {}) => ({
  id: 'x',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  ...more,
})
const START = {
  type: 'message_start',
  message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 10, output_tokens: 1 } },
}
const TEXT = [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
  { type: 'content_block_stop', index: 0 },
]
const END = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]
const message = (content: unknown, more: object = {}) => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  content,
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 5 },
  ...more,
})

function good(dialect: Dialect): Script {
  const whole = dialect === 'chat' ? completion({ content: 'Hello' }) : message([{ type: 'text', text: 'Hello' }])
  const stream =
    dialect === 'chat'
      ? [chunk({ role: 'assistant', content: 'Hello' }), chunk({}, 'stop'), '[DONE]']
      : [START, ...TEXT, ...END]
  return ({ body }) => (body.stream ? eventStream(sse(stream)) : Response.json(whole))
}

const ODD_VALUES = [null, [], {}, 5, 'x', true, [null], { type: 'constructor' }, { type: '__proto__' }]

describe('a frame with something odd in it ends in an answer or an error, never in silence', () => {
  const FRAMES: Record<Dialect, (odd: unknown) => unknown[][]> = {
    chat: odd => [
      [odd, chunk({ content: 'a' }), chunk({}, 'stop'), '[DONE]'],
      [{ ...chunk({}), choices: odd }, chunk({ content: 'a' }, 'stop'), '[DONE]'],
      [
        chunk(odd),
        chunk({ content: odd }),
        chunk({ tool_calls: odd }),
        chunk({ tool_calls: [odd] }),
        chunk({}, 'stop'),
        '[DONE]',
      ],
      [chunk({ content: 'a' }), { ...chunk({}, 'stop'), usage: odd, created: odd, id: odd }, '[DONE]'],
      [
        chunk({ tool_calls: [{ index: odd, id: odd, function: odd }] }),
        chunk({ tool_calls: [{ index: 0, function: { name: odd, arguments: odd } }] }),
        chunk({}, 'tool_calls'),
        '[DONE]',
      ],
      [{ choices: [{ index: odd, delta: { content: 'a' }, finish_reason: odd }] }, '[DONE]'],
    ],
    messages: odd => [
      [odd, START, ...TEXT, ...END],
      [{ type: 'message_start', message: odd }, ...TEXT, ...END],
      [START, { type: 'content_block_start', index: odd, content_block: odd }, ...TEXT, ...END],
      [
        START,
        { type: 'content_block_start', index: 0, content_block: odd },
        { type: 'content_block_delta', index: 0, delta: odd },
        { type: 'content_block_stop', index: 0 },
        ...END,
      ],
      [START, ...TEXT, { type: 'message_delta', delta: odd, usage: odd }, { type: 'message_stop' }],
      [START, ...TEXT, { type: odd }, { type: 'error', error: odd }, ...END],
    ],
  }
  for (const dialect of ['chat', 'messages'] as const) {
    for (const path of [CHAT, MESSAGES]) {
      for (const odd of ODD_VALUES) {
        test(`${path} over ${dialect}: ${JSON.stringify(odd)}`, async () => {
          const stage = stageOf(dialect)
          for (const frames of FRAMES[dialect](odd)) {
            stage.answer = () => eventStream(sse(frames))
            const answer = await ask(stage, path, { stream: true })
            expect([200, 502]).toContain(answer.status)
            if (answer.status !== 200) continue
            const last = framesOf(answer.text).at(-1)
            expect(path === CHAT ? last?.data : last?.event).toMatch(
              path === CHAT ? /^\[DONE\]$/ : /^(message_stop|error)$/,
            )
            expect(answer.text).not.toMatch(/undefined|NaN/)
          }
        })
      }
    }
  }
})

describe('a body with something odd in it is an answer or 502', () => {
  const BODIES: Record<Dialect, (odd: unknown) => unknown[]> = {
    chat: odd => [
      odd,
      { choices: odd },
      { choices: [{ message: odd }] },
      completion({ content: odd }),
      completion({ content: null, tool_calls: odd }),
      completion({ tool_calls: [{ id: odd, function: { name: odd, arguments: odd } }] }),
      completion({ content: 'a' }, { usage: odd, id: odd, model: odd }),
    ],
    messages: odd => [
      odd,
      message(odd),
      message([odd]),
      message([{ type: 'text', text: odd }]),
      message([{ type: 'tool_use', id: odd, name: odd, input: odd }]),
      message([{ type: 'text', text: 'a' }], { usage: odd, stop_reason: odd, id: odd }),
    ],
  }
  for (const dialect of ['chat', 'messages'] as const) {
    for (const path of [CHAT, MESSAGES]) {
      for (const stream of [false, true]) {
        test(`${path} over ${dialect}${stream ? ', to a stream request' : ''}`, async () => {
          const stage = stageOf(dialect)
          for (const body of ODD_VALUES.flatMap(BODIES[dialect])) {
            stage.answer = () => Response.json(body)
            expect([200, 502]).toContain((await ask(stage, path, { stream })).status)
          }
        })
      }
    }
  }
})

describe('usage that says nothing is no usage: the call is counted, never free and never absurd', () => {
  const NONSENSE = [
    {},
    { prompt_tokens: '9', completion_tokens: '9' },
    { prompt_tokens: -5, completion_tokens: -5 },
    { prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: Number.MAX_SAFE_INTEGER },
    { prompt_tokens: 3, completion_tokens: 0 },
  ]
  const words = 'many words '.repeat(40)
  for (const path of [CHAT, MESSAGES]) {
    for (const usage of NONSENSE) {
      test(`${path}: ${JSON.stringify(usage)}`, async () => {
        const stage = stageOf('chat')
        stage.answer = () => Response.json(completion({ content: words }, { usage }))
        const cost = Number((await ask(stage, path)).headers.get('x-duet-cost'))
        expect(cost).toBeGreaterThan(0.0004)
        expect(cost).toBeLessThan(0.001)
      })
    }
  }

  // Some vendors leave cached tokens out of the prompt's; what they say of the cache is still what they charge.
  test('more cached tokens than prompt tokens leave no prompt beside them, and never a negative one', async () => {
    const stage = stageOf('chat')
    const usage = { prompt_tokens: 50, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 64 } }
    stage.answer = () => Response.json(completion({ content: 'a' }, { usage }))
    expect((await ask(stage, CHAT)).headers.get('x-duet-cost')).toBe('0.000084')
  })
})

describe('several answers at once', () => {
  test('are held for, so that a cap is a cap', async () => {
    const stage = stageOf('chat')
    const { body: key } = await stage.duet.admin('POST', '/api/keys', {
      account: 'default',
      name: 'capped',
      cap: '0.05',
    })
    const body = { model: 'acme/swift-2', n: 100, max_tokens: 4000, messages: user('Hello') }
    const before = stage.upstream.requests.length
    const answer = await post(stage.duet, CHAT, body, { key: key.key })
    expect(answer.body.error.code).toBe('pre_consume_token_quota_failed')
    expect(stage.upstream.requests.length).toBe(before)
  })

  test('are all counted where the upstream does not count', async () => {
    const stage = stageOf('chat')
    const choices = Array.from({ length: 10 }, (_, index) => ({
      index,
      message: { role: 'assistant', content: 'word '.repeat(80) },
      finish_reason: 'stop',
    }))
    stage.answer = () => Response.json({ id: 'x', choices })
    const { body } = await ask(stage, CHAT, { n: 10 })
    expect(body.choices).toHaveLength(10)
    expect(body.usage.completion_tokens).toBe(1000)
  })

  test('are refused where dialects are crossed, and beyond 128', async () => {
    expect((await ask(stageOf('messages'), CHAT, { n: 2 })).body.error).toMatchObject({
      code: 'invalid_request',
      param: 'n',
    })
    expect((await ask(stageOf('chat'), CHAT, { n: 129 })).body.error).toMatchObject({
      code: 'invalid_request',
      param: 'n',
    })
  })
})

describe('what an upstream must not see', () => {
  test('null, which counts as absent here and is an error elsewhere', async () => {
    for (const [dialect, path] of [
      ['chat', CHAT],
      ['messages', MESSAGES],
    ] as const) {
      const stage = stageOf(dialect)
      stage.answer = good(dialect)
      const answer = await ask(stage, path, {
        system: null,
        tools: null,
        temperature: null,
        stream: null,
        future: null,
      })
      expect([answer.status, answer.headers.get('x-duet-dropped')]).toEqual([200, null])
      expect(Object.keys(stage.upstream.requests.at(-1)?.body).toSorted()).toEqual(['max_tokens', 'messages', 'model'])
    }
  })

  test('keys that differ from a decided field in their case only', async () => {
    for (const [dialect, path] of [
      ['chat', CHAT],
      ['messages', MESSAGES],
    ] as const) {
      const stage = stageOf(dialect)
      stage.answer = good(dialect)
      const answer = await ask(stage, path, { Model: 'dearer', MAX_TOKENS: 999_999, meſſages: [], other: 1 })
      expect(answer.status).toBe(200)
      expect(Object.keys(stage.upstream.requests.at(-1)?.body).toSorted()).toEqual([
        'max_tokens',
        'messages',
        'model',
        'other',
      ])
      expect(answer.headers.get('x-duet-dropped')).toBe('MAX_TOKENS,Model,unknown')
    }
  })
})

describe('an answer that is complete', () => {
  const COMPLETE: Record<Dialect, unknown[]> = {
    chat: [
      chunk({ role: 'assistant', content: 'Hello' }),
      chunk({}, 'stop'),
      { ...chunk({}), choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } },
    ],
    messages: [START, ...TEXT, END[0]],
  }
  for (const dialect of ['chat', 'messages'] as const) {
    for (const path of [CHAT, MESSAGES]) {
      test(`${path} over ${dialect}: needs no end mark, even if the connection stays open`, async () => {
        const stage = stageOf(dialect)
        stage.answer = () => {
          const frames = sse(COMPLETE[dialect])
          const body = new ReadableStream<Uint8Array>({
            pull(controller) {
              const next = frames.shift()
              return next ? controller.enqueue(new TextEncoder().encode(next)) : new Promise(() => {})
            },
          })
          return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
        }
        const answer = await ask(stage, path, { stream: true })
        const last = framesOf(answer.text).at(-1)
        expect(path === CHAT ? last?.data : last?.event).toBe(path === CHAT ? '[DONE]' : 'message_stop')
        expect(answer.text).not.toContain('"error"')
      }, 10_000)
    }
  }
})

test('an upstream that fails before its first byte costs nothing and is let go at once', async () => {
  const stage = stageOf('chat')
  const spent = async () => (await stage.duet.admin('GET', '/api/accounts/default')).body.spent
  const before = await spent()
  const { promise: left, resolve } = Promise.withResolvers<void>()
  stage.answer = visit => {
    visit.signal.addEventListener('abort', () => resolve())
    const body = new ReadableStream<Uint8Array>({
      start: controller => controller.enqueue(new TextEncoder().encode('data: {"error":{"message":"no"}}\n\n')),
      pull: () => new Promise(() => {}),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  expect((await ask(stage, CHAT, { stream: true })).status).toBe(502)
  await left
  stage.answer = () =>
    new Response(
      new ReadableStream({
        start: c => c.enqueue(new TextEncoder().encode(': hi\n\n')),
        pull: () => new Promise(() => {}),
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )
  expect((await ask(stage, CHAT, { stream: true })).status).toBe(504)
  expect(await spent()).toBe(before)
})

test('calls without ids get ids of their own', async () => {
  const call = { type: 'function', function: { name: 'f', arguments: '{}' } }
  stageOf('chat').answer = () => Response.json(completion({ content: null, tool_calls: [call, call] }))
  const { body } = await ask(stageOf('chat'), MESSAGES)
  const ids = body.content.map(({ id }: { id: string }) => id)
  expect(ids).toEqual([expect.stringMatching(/^call_/), expect.stringMatching(/^call_/)])
  expect(ids[0]).not.toBe(ids[1])
})

test('a vendor cannot write frames of its own making', async () => {
  const stage = stageOf('messages')
  stage.answer = () => eventStream(sse([START, { type: 'x\n\ndata: {"evil":1}' }, ...TEXT, ...END]))
  const answer = await ask(stage, MESSAGES, { stream: true })
  expect(answer.text).not.toContain('evil')
  expect(framesOf(answer.text).at(-1)?.event).toBe('message_stop')
})

test('an answer nested beyond all measure is an answer or 502, not the fault of the caller', async () => {
  for (const [dialect, path] of [
    ['chat', CHAT],
    ['messages', MESSAGES],
  ] as const) {
    const deep = `${'{"a":'.repeat(300_000)}1${'}'.repeat(300_000)}`
    const whole = JSON.stringify(
      dialect === 'chat' ? completion({ content: 'Hello' }) : message([{ type: 'text', text: 'Hello' }]),
    )
    stageOf(dialect).answer = () => new Response(whole.replace(/}$/, `,"x":1,"x":${deep}}`))
    expect([200, 502]).toContain((await ask(stageOf(dialect), path)).status)
  }
})

test('several keys of a channel share its calls', async () => {
  const upstream = scriptUpstream(good('chat'))
  const config = configFor(upstream.base, 'chat').replace(
    'api_key: vendor-key-0123456789',
    'api_keys: [key-number-one, key-number-two]',
  )
  const duet = await startDuet({ config })
  for (let calls = 0; calls < 40; calls++) await post(duet, CHAT, { model: 'acme/swift-2', messages: user('Hello') })
  const used = new Set(upstream.requests.map(({ headers }) => headers.get('authorization')))
  expect([...used].toSorted()).toEqual(['Bearer key-number-one', 'Bearer key-number-two'])
  await duet.stop()
  await upstream.stop()
})
