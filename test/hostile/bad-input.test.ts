import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, send, user } from '../support/http.ts'

let duet: Duet

beforeAll(async () => {
  duet = await startDuet()
})
afterAll(async () => {
  expect(await stillServes()).toBe(200)
  expect(await duet.stop()).toBe(0)
})

/** Served by a chat-speaking and by a messages-speaking upstream. */
const MODELS = ['openai/gpt-4.1', 'anthropic/claude-opus-4.6'] as const
const PATHS = [CHAT, MESSAGES] as const

const stillServes = async () => (await post(duet, CHAT, { model: MODELS[0], messages: user('still there?') })).status

const valid = (model: string) => ({ model, max_tokens: 20, messages: user('hi') })

/** `valid` as text, with one more member written by hand. */
const withMember = (model: string, member: string) => JSON.stringify(valid(model)).replace(/}$/, `,${member}}`)

describe('a body that is not a JSON object is 400 with an empty code', () => {
  const bodies: Record<string, string> = {
    'nothing at all': '',
    'half an object': '{"model":',
    'a list': '[]',
    null: 'null',
    'a number': '7',
    'two objects': '{} {}',
    'a million brackets': '['.repeat(1_000_000),
    'two byte order marks': '\ufeff\ufeff{}',
  }
  for (const path of PATHS) {
    for (const [name, body] of Object.entries(bodies)) {
      test(`${path}: ${name}`, async () => {
        const answer = await post(duet, path, body)
        expect(answer.status).toBe(400)
        expect(answer.body.error.code).toBe('')
        expect(answer.body.error.message).toStartWith('Invalid request: Invalid request: invalid JSON request body')
      })
    }
  }
})

test('a body that is not UTF-8 is not JSON', async () => {
  const body = Buffer.from('{"model":"\xff\xfe","messages":[]}', 'latin1')
  for (const path of PATHS) {
    const answer = await send(duet, path, { method: 'POST', body })
    expect([answer.status, answer.body.error.code]).toEqual([400, ''])
  }
})

describe('a wrong type at any depth is 400 and names its place', () => {
  const CHAT_FAULTS: [param: string, change: Record<string, unknown>][] = [
    ['stream', { stream: 'yes' }],
    ['stream_options', { stream_options: [] }],
    ['stream_options.include_usage', { stream_options: { include_usage: 1 } }],
    ['max_tokens', { max_tokens: 0 }],
    ['max_tokens', { max_tokens: 1.5 }],
    ['max_tokens', { max_tokens: '20' }],
    ['max_completion_tokens', { max_completion_tokens: -1 }],
    ['temperature', { temperature: 'hot' }],
    ['tools', { tools: {} }],
    ['tools[0]', { tools: ['f'] }],
    ['tools[0].type', { tools: [{ type: 'banana', function: { name: 'f' } }] }],
    ['tools[0].function', { tools: [{ type: 'function' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 7 } }] }],
    ['tools[0].function.parameters', { tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] }],
    ['tool_choice', { tool_choice: 'maybe' }],
    ['tool_choice.function.name', { tool_choice: { type: 'function', function: { name: 'nobody' } } }],
    ['response_format.type', { response_format: { type: 'xml' } }],
    ['stop[1]', { stop: ['a', 1] }],
    ['messages[0]', { messages: ['hi'] }],
    ['messages[0].role', { messages: [{ content: 'hi' }] }],
    ['messages[0].role', { messages: [{ role: 'king', content: 'hi' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages[0].content[0]', { messages: user(['hi']) }],
    ['messages[0].content[0].type', { messages: user([{ text: 'hi' }]) }],
    ['messages[0].content[0].text', { messages: user([{ type: 'text', text: {} }]) }],
    [
      'messages[0].content[1].image_url.url',
      {
        messages: user([
          { type: 'text', text: '' },
          { type: 'image_url', image_url: {} },
        ]),
      },
    ],
    ['messages[1].tool_call_id', { messages: [...user('hi'), { role: 'tool', content: 'x' }] }],
    ['messages[1].tool_calls', { messages: [...user('hi'), { role: 'assistant', tool_calls: {} }] }],
    [
      'messages[1].tool_calls[0].id',
      { messages: [...user('hi'), { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: '' } }] }] },
    ],
    [
      'messages[1].tool_calls[0].function.arguments',
      {
        messages: [
          ...user('hi'),
          { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }] },
        ],
      },
    ],
  ]
  const MESSAGES_FAULTS: [param: string, change: Record<string, unknown>][] = [
    ['stream', { stream: 1 }],
    ['max_tokens', { max_tokens: 0 }],
    ['max_tokens', { max_tokens: 'many' }],
    ['system', { system: 7 }],
    ['system[0]', { system: ['x'] }],
    ['system[0].text', { system: [{ type: 'text' }] }],
    ['tools[0].name', { tools: [{ input_schema: {} }] }],
    ['tools[0].input_schema', { tools: [{ name: 'f' }] }],
    ['tool_choice', { tool_choice: 'auto' }],
    ['tool_choice.type', { tool_choice: { type: 'required' } }],
    ['tool_choice.name', { tool_choice: { type: 'tool', name: 'nobody' } }],
    ['stop_sequences[0]', { stop_sequences: [7] }],
    ['thinking', { thinking: true }],
    ['messages[0].role', { messages: [{ role: 'tool', content: 'hi' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content[0].type', { messages: user([{ text: 'hi' }]) }],
    ['messages[0].content[0].text', { messages: user([{ type: 'text' }]) }],
    ['messages[0].content[0].source', { messages: user([{ type: 'image' }]) }],
    ['messages[0].content[0].tool_use_id', { messages: user([{ type: 'tool_result' }]) }],
    ['messages[0].content[0].content', { messages: user([{ type: 'tool_result', tool_use_id: 'a', content: 7 }]) }],
    [
      'messages[0].content[0].content[0].text',
      { messages: user([{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text' }] }]) },
    ],
    [
      'messages[1].content[0].input',
      {
        messages: [
          ...user('hi'),
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: 'x' }] },
        ],
      },
    ],
  ]
  for (const [path, faults] of [
    [CHAT, CHAT_FAULTS],
    [MESSAGES, MESSAGES_FAULTS],
  ] as const) {
    for (const [param, change] of faults) {
      test(`${path}: ${param} in ${JSON.stringify(change).slice(0, 60)}`, async () => {
        const answer = await post(duet, path, { ...valid(MODELS[0]), ...change })
        expect(answer.status).toBe(400)
        expect(answer.body.error).toMatchObject({ type: 'invalid_request_error', code: 'invalid_request', param })
        expect(answer.body.error.message).toContain(param)
        expect(answer.headers.get('x-should-retry')).toBe('false')
      })
    }
  }
})

describe('odd but valid JSON is understood', () => {
  for (const path of PATHS) {
    for (const model of MODELS) {
      test(`${path} ${model}: keys named like members of Object.prototype`, async () => {
        const body = withMember(model, '"__proto__":{"stream":true},"constructor":1,"toString":2,"hasOwnProperty":3')
        const answer = await post(duet, path, body)
        expect(answer.status).toBe(200)
        expect(answer.headers.get('content-type')).toBe('application/json')
      })

      test(`${path} ${model}: of two equal keys the last one counts, upstream too`, async () => {
        const body = `{"model":"nobody/nothing",${JSON.stringify(valid(model)).slice(1, -1)},"stream":true,"stream":false}`
        const answer = await post(duet, path, body)
        expect(answer.status).toBe(200)
        expect(answer.body.model).toBe(model)
      })

      test(`${path} ${model}: half a surrogate pair and a NUL come back as they went`, async () => {
        const body = JSON.stringify({ ...valid(model), max_tokens: 40, messages: user('say \ud800 and \u0000!') })
        const answer = await post(duet, path, body)
        expect(answer.status).toBe(200)
        expect(answer.text).toContain('say \\ud800 and \\u0000!')
      })

      test(`${path} ${model}: null counts as absent for optional fields`, async () => {
        const answer = await post(duet, path, {
          ...valid(model),
          stream: null,
          tools: null,
          tool_choice: null,
          temperature: null,
          system: null,
          stop: null,
          stop_sequences: null,
          response_format: null,
          stream_options: null,
          thinking: null,
          metadata: null,
        })
        expect(answer.status).toBe(200)
      })
    }
  }

  for (const levels of [10_000, 200_000]) {
    const nested = `${'['.repeat(levels)}1${']'.repeat(levels)}`
    const schema = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
    for (const path of PATHS) {
      for (const model of MODELS) {
        test(`${path} ${model}: ${levels} levels of nesting get a clear answer`, async () => {
          const tool =
            path === CHAT
              ? `"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]`
              : `"tools":[{"name":"f","input_schema":${schema}}]`
          for (const member of [`"x_deep":${nested}`, `"metadata":${schema}`, `"stream_options":${schema}`, tool]) {
            const answer = await post(duet, path, withMember(model, member))
            expect([200, 400]).toContain(answer.status)
          }
          const inside = JSON.stringify(valid(model)).replace('"hi"', nested)
          expect((await post(duet, path, inside)).status).toBe(400)
        })
      }
    }
  }
})

describe('sizes', () => {
  test('a body above 32 MiB is 413, and its sender hears of it', async () => {
    const body = JSON.stringify({ ...valid(MODELS[0]), messages: user('x'.repeat(33 * 1024 * 1024)) })
    for (const path of PATHS) {
      const answer = await post(duet, path, body)
      expect(answer.status).toBe(413)
      expect(answer.body.error.code).toBe('request_too_large')
      expect(answer.headers.get('x-should-retry')).toBe('false')
    }
  })

  test('the same without a content-length', async () => {
    const piece = new TextEncoder().encode('x'.repeat(1024 * 1024))
    let left = 40
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- === 0) controller.close()
        else controller.enqueue(piece)
      },
    })
    const answer = await send(duet, CHAT, { method: 'POST', body })
    expect(answer.status).toBe(413)
  })

  test('a body just below 32 MiB is served', async () => {
    const body = JSON.stringify({ ...valid(MODELS[0]), messages: user('x'.repeat(32 * 1024 * 1024 - 200)) })
    expect((await post(duet, CHAT, body)).status).toBe(200)
  })

  test('64 KB of headers are accepted', async () => {
    const answer = await post(duet, CHAT, valid(MODELS[0]), { headers: { 'x-large': 'a'.repeat(64 * 1024) } })
    expect(answer.status).toBe(200)
  })

  test('headers without end are 431', async () => {
    const answer = await raw(`GET /v1/models HTTP/1.1\r\nhost: x\r\nx-large: ${'a'.repeat(400_000)}\r\n\r\n`)
    expect(answer).toStartWith('HTTP/1.1 431 ')
  })

  test('bytes that are not HTTP are 400', async () => {
    expect(await raw('\x16\x03\x01 hello\r\n\r\n')).toStartWith('HTTP/1.1 400 ')
  })
})

describe('addresses of all kinds', () => {
  test('a path of a hundred thousand slashes is 404 at once, for everyone', async () => {
    for (const path of ['/api', '/v1', '']) {
      const slashes = '/'.repeat(100_000)
      const answers = await Promise.all([send(duet, `${path}${slashes}x`), send(duet, '/health/live')])
      expect([404, 401]).toContain(answers[0].status)
      expect(answers[1].status).toBe(200)
    }
  })

  test('HTTP/1.0 without a host is served like any other', async () => {
    const bearer = `authorization: Bearer ${duet.key}`
    expect(await raw('GET /health/live HTTP/1.0\r\n\r\n')).toContain('{"status":"ok"}')
    expect(await raw(`GET /v1/models HTTP/1.0\r\n${bearer}\r\n\r\n`)).toContain('"has_more":false')
    expect(await raw('GET /zz/api/accounts?x=1 HTTP/1.0\r\n\r\n')).toContain('Invalid URL (GET /zz/api/accounts)')
    expect(await raw('GET /api/accounts?x=1 HTTP/1.0\r\n\r\n')).toContain('"unauthorized"')
    expect(await raw('HEAD /v1/models HTTP/1.0\r\n\r\n')).toStartWith('HTTP/1.1 401 ')
  })
})

describe('values that only look harmless', () => {
  for (const model of MODELS) {
    test(`${model}: blocks with nothing in them`, async () => {
      for (const block of [
        { type: 'search_result', content: [null, 7, 'x'] },
        { type: 'document', source: null },
        { type: 'tool_reference' },
        { type: 'thinking' },
        { type: '__proto__' },
      ]) {
        for (const content of [[block], [{ type: 'tool_result', tool_use_id: 'a', content: [block] }]]) {
          const answer = await post(duet, MESSAGES, { ...valid(model), messages: user(content) })
          expect([200, 400]).toContain(answer.status)
        }
      }
    })
  }

  test('an image whose data is no text', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: Array(20_000).fill(1e20) }
    const answer = await post(duet, MESSAGES, { ...valid(MODELS[0]), messages: user([{ type: 'image', source }]) })
    expect(answer.body.error).toMatchObject({ code: 'invalid_request', param: 'messages[0].content[0].source.data' })
  })
})

test('a client that leaves in the middle of its body takes nothing with it', async () => {
  const { port } = new URL(duet.url)
  for (let round = 0; round < 20; round++) {
    await new Promise<void>(resolve => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(
          `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${duet.key}\r\ncontent-length: 500\r\n\r\n{"mod`,
        )
        setTimeout(() => socket.destroy(), 5)
      })
      socket.on('close', () => resolve())
    })
  }
  expect(await stillServes()).toBe(200)
  expect(duet.output()).not.toContain('internal error')
})

/** What the server answers to bytes of any kind. */
function raw(bytes: string): Promise<string> {
  const { port } = new URL(duet.url)
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(bytes, 'latin1'))
    socket.on('data', data => {
      received += data.toString('latin1')
      socket.end()
    })
    socket.on('close', () => resolve(received))
    socket.on('error', error => (received ? resolve(received) : reject(error)))
  })
}
