import { beforeEach, describe, expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { type Answer, post } from '../support/http.ts'
import { eventStream } from '../support/upstream.ts'
import {
  bodyFor,
  eachPair,
  eachWay,
  LIKE,
  MESSAGES_CLIENTS,
  PATHS,
  type Pair,
  type Protocol,
  UNLIKE,
  useScript,
  VENDOR_KEY,
  VENDOR_MODEL,
} from './pairs.ts'
import { jsonResponse, messagesFrame, PLAIN_USAGE, protocolOf, saying } from './wire.ts'

const stage = useScript()

beforeEach(() => {
  stage.answer = saying({ text: 'Aye.', finish: 'stop', usage: PLAIN_USAGE })
})

const HELLO = { messages: [{ user: 'Hello' }] }

/** Written as no serializer would write it: blanks, escapes, numbers beyond a double, keys out of order. */
function oddMembers({ client, upstream }: Pair): readonly string[] {
  return [
    `"future_field" : {"b":1, "a":[ 1 ,2.50, 12345678901234567890 ], "2":0, "1":0}`,
    `"model":  "${stage.model(upstream)}"`,
    client === 'chat' ? '"seed" : 7' : '"top_k": 40',
    `"messages":[{ "role":"user", "content":"Caf\\u00e9 \\/ tea", "future_member":true }]`,
    '"max_tokens" :90',
  ]
}

function renamed(body: string, { upstream }: Pair): string {
  return body.replace(stage.model(upstream), VENDOR_MODEL)
}

describe('a request to a like upstream', () => {
  eachPair(
    'keeps the bytes and the order of all members, but for the name of the model',
    async pair => {
      const body = `{${oddMembers(pair).join(',')}}`
      expect((await send(pair, body)).status).toBe(200)
      expect(stage.visit.text).toBe(renamed(body, pair))
    },
    LIKE,
  )

  eachPair(
    'keeps them when it streams and asks for usage itself',
    async pair => {
      const options = pair.client === 'chat' ? ['"stream_options":{"include_usage":true}'] : []
      const body = `{${[...oddMembers(pair), '"stream" : true', ...options].join(',')}}`
      expect((await send(pair, body)).status).toBe(200)
      expect(stage.visit.text).toBe(renamed(body, pair))
    },
    LIKE,
  )

  eachPair(
    'is the same JSON whatever stands between its members',
    async pair => {
      const body = `{ ${oddMembers(pair).join(' ,\n\t')}\n}`
      expect((await send(pair, body)).status).toBe(200)
      expect(stage.visit.text).toBe(renamed(`{${oddMembers(pair).join(',')}}`, pair))
    },
    LIKE,
  )

  for (const [what, options] of [
    ['is not asked for', []],
    ['is declined', ['"stream_options":{"include_usage":false}']],
    ['is declined beside something else', ['"stream_options":{"future_option":1,"include_usage":false}']],
  ] as const) {
    eachPair(
      `changes only stream_options when usage ${what}`,
      async pair => {
        const before = [...oddMembers(pair), '"stream" : true'].join(',')
        const body = `{${[before, ...options].join(',')}}`
        expect((await send(pair, body)).status).toBe(200)
        expect(stage.visit.text).toStartWith(renamed(`{${before},`, pair))
        const { stream_options: asked, ...own } = JSON.parse(body)
        const { stream_options: sent, ...rest } = stage.visit.body
        expect(rest).toEqual({ ...own, model: VENDOR_MODEL })
        expect(sent).toEqual({ ...asked, include_usage: true })
      },
      [{ client: 'chat', upstream: 'chat' }],
    )
  }

  eachWay(
    'carries fields that nobody knows, and nothing is said to be dropped',
    async (pair, stream) => {
      const more = { future_field: [1, { deep: true }], messages: [{ role: 'user', content: 'Hi', future_member: 1 }] }
      const { status, headers } = await send(pair, bodyFor(stage, pair, { ...HELLO, stream, more }))
      expect({ status, dropped: headers.get('x-duet-dropped') }).toEqual({ status: 200, dropped: null })
      expect(stage.visit.body.future_field).toEqual([1, { deep: true }])
      expect(stage.visit.body.messages[0].future_member).toBe(1)
    },
    LIKE,
  )

  eachPair(
    'loses nothing, so a strict caller is served',
    async pair => {
      const body = bodyFor(stage, pair, { ...HELLO, more: { future_field: 1 } })
      expect((await send(pair, body, { 'x-duet-strict': 'true' })).status).toBe(200)
    },
    LIKE,
  )
})

/** One answer of each protocol with something unknown at every level. */
const FUTURE_BODIES: Record<Protocol, string> = {
  chat: `{"id":"chatcmpl-v","object":"chat.completion","created":1760000000,"model":"v","future":{"n":12345678901234567890},
    "choices":[{"index":0,"future_choice":[1.50],"finish_reason":"stop","message":{"role":"assistant","content":"Aye.","future_message":{"2":0,"1":0}}}],
    "usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,"future_count":3}}`,
  messages: `{"id":"msg_v","type":"message","role":"assistant","model":"v","future":{"n":12345678901234567890},"stop_reason":"end_turn","stop_sequence":null,
    "content":[{"type":"text","text":"Aye.","future_message":{"2":0,"1":0}},{"type":"future_block","future_choice":[1.50]}],
    "usage":{"input_tokens":11,"output_tokens":7,"future_count":3}}`,
}

const FUTURE_FRAMES: Record<Protocol, readonly string[]> = {
  chat: [
    futureChunk('"delta":{"role":"assistant","content":"Aye.","future_message":{"2":0,"1":0}},"finish_reason":null'),
    futureChunk('"delta":{},"future_choice":[1.50],"finish_reason":"stop"'),
    'data: {"id":"chatcmpl-v","object":"chat.completion.chunk","created":1760000000,"model":"v","choices":[],' +
      '"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,"future_count":3}}\n\n',
    'data: [DONE]\n\n',
  ],
  messages: [
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_v","type":"message","role":"assistant","model":"v",' +
      '"content":[],"stop_reason":null,"future":{"n":12345678901234567890},"usage":{"input_tokens":11,"output_tokens":0}}}\n\n',
    messagesFrame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    messagesFrame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Aye.' } }),
    messagesFrame('content_block_delta', { index: 0, delta: { type: 'future_delta', future_choice: 1 } }),
    messagesFrame('content_block_stop', { index: 0 }),
    'event: future_event\ndata: {"type":"future_event","future_message":{"2":0,"1":0}}\n\n',
    messagesFrame('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 7, future_count: 3 },
    }),
    messagesFrame('message_stop', {}),
  ],
}

describe('an answer of a like upstream', () => {
  eachPair(
    'keeps the fields that nobody knows, digit for digit',
    async pair => {
      stage.answer = visit => jsonResponse(FUTURE_BODIES[protocolOf(visit)])
      const { text, body } = await send(pair, bodyFor(stage, pair, HELLO))
      for (const kept of ['"n":12345678901234567890', '[1.50]', '{"2":0,"1":0}', '"future_count":3']) {
        expect(text).toContain(kept)
      }
      expect(body.model).toBe(stage.model(pair.upstream))
      if (pair.client === 'chat') expect(body.created).toBe(1_760_000_000)
      else expect(body.content[1].type).toBe('future_block')
    },
    LIKE,
  )

  const streamOf = async (pair: Pair) => {
    stage.answer = visit => eventStream(FUTURE_FRAMES[protocolOf(visit)])
    const more = pair.client === 'chat' ? { stream_options: { include_usage: true } } : {}
    return (await send(pair, bodyFor(stage, pair, { ...HELLO, stream: true, more }))).text
  }

  eachPair(
    'keeps the fields and events that nobody knows in a stream',
    async pair => {
      const text = await streamOf(pair)
      const kept = ['"future":', 'future_message', 'future_choice', '"future_count":3']
      if (pair.client === 'messages') kept.push('event: future_event\n', 'future_delta')
      for (const each of kept) expect(text).toContain(each)
      expect(text).not.toContain('"model":"v"')
    },
    LIKE,
  )

  eachPair(
    'keeps them digit for digit in a stream',
    async pair => {
      const text = await streamOf(pair)
      expect(text).toContain('"n":12345678901234567890')
      expect(text).toContain('{"2":0,"1":0}')
    },
    LIKE,
  )

  eachPair(
    'keeps the time of its making in a stream, as it does in a body',
    async pair => expect(await streamOf(pair)).toContain('"created":1760000000'),
    [{ client: 'chat', upstream: 'chat' }],
  )

  eachWay('never shows the name and the ids of the vendor', async (pair, stream) => {
    const { text } = await send(pair, bodyFor(stage, pair, { ...HELLO, stream }))
    for (const own of ['the-vendors-own-name', 'msg_vendor', 'chatcmpl-vendor', VENDOR_MODEL]) {
      expect(text).not.toContain(own)
    }
    expect(text).toContain('Aye.')
  })
})

describe('a request to an unlike upstream', () => {
  const unmappable: Record<Protocol, Record<string, unknown>> = {
    chat: {
      seed: 7,
      logit_bias: { '50256': -100 },
      presence_penalty: 0.5,
      prediction: { type: 'content', content: 'x' },
    },
    messages: { context_management: { edits: [] }, container: 'box', mcp_servers: [] },
  }

  eachWay(
    'leaves out fields that nobody knows, and names them',
    async (pair, stream) => {
      const more = { future_field: 1, another_one: { deep: true } }
      const { status, headers } = await send(pair, bodyFor(stage, pair, { ...HELLO, stream, more }))
      expect(status).toBe(200)
      expect(droppedIn(headers)).toEqual(['another_one', 'future_field'])
      expect(stage.visit.text).not.toMatch(/future_field|another_one/)
    },
    UNLIKE,
  )

  eachPair(
    'leaves out fields that only the other protocol has, and names them',
    async pair => {
      const more = unmappable[pair.client]
      const { status, headers } = await send(pair, bodyFor(stage, pair, { ...HELLO, more }))
      expect(status).toBe(200)
      for (const name of Object.keys(more)) {
        expect(droppedIn(headers)).toContain(name)
        expect(stage.visit.body[name]).toBeUndefined()
      }
    },
    UNLIKE,
  )

  eachPair(
    'leaves out what nobody knows inside messages and tools',
    async pair => {
      const schema = { type: 'object', properties: {} }
      const tools = [{ name: 'count', schema }]
      const body = bodyFor(stage, pair, { ...HELLO, tools })
      body.messages[0].future_member = 1
      body.tools[0].future_member = 2
      expect((await send(pair, body)).status).toBe(200)
      expect(stage.visit.text).not.toContain('future_member')
    },
    UNLIKE,
  )

  eachPair(
    'leaves out cache_control, and names it',
    async pair => {
      const mark = { cache_control: { type: 'ephemeral' } }
      const body = bodyFor(stage, pair, HELLO)
      body.system = [{ type: 'text', text: 'Be brief.', ...mark }]
      body.messages = [{ role: 'user', content: [{ type: 'text', text: 'Hello', ...mark }] }]
      const { headers } = await send(pair, body)
      expect(droppedIn(headers)).toEqual(['cache_control'])
      expect(stage.visit.text).not.toContain('cache_control')
      expect(stage.visit.text).toContain('Be brief.')
    },
    [{ client: 'messages', upstream: 'chat' }],
  )

  eachWay(
    'is refused to a strict caller before it is sent',
    async (pair, stream) => {
      const visits = stage.visits.length
      const body = bodyFor(stage, pair, { ...HELLO, stream, more: { future_field: 1 } })
      const { status, body: answer } = await send(pair, body, { 'x-duet-strict': 'true' })
      expect(status).toBe(400)
      expect(answer.error.message).toContain('future_field')
      expect(stage.visits.length).toBe(visits)
    },
    UNLIKE,
  )

  eachPair(
    'is sent for a strict caller when nothing is lost, and for one who is not strict',
    async pair => {
      const whole = bodyFor(stage, pair, { ...HELLO, system: 'Be brief.' })
      const { status, headers } = await send(pair, whole, { 'x-duet-strict': 'true' })
      expect({ status, dropped: headers.get('x-duet-dropped') }).toEqual({ status: 200, dropped: null })
      const lossy = { ...whole, future_field: 1 }
      expect((await send(pair, lossy, { 'x-duet-strict': 'false' })).status).toBe(200)
    },
    UNLIKE,
  )

  eachPair(
    'cannot ask for several answers at once',
    async pair => {
      expect((await send(pair, bodyFor(stage, pair, { ...HELLO, more: { n: 2 } }))).status).toBe(400)
      expect((await send(pair, bodyFor(stage, pair, { ...HELLO, more: { n: 1 } }))).status).toBe(200)
    },
    [{ client: 'chat', upstream: 'messages' }],
  )
})

describe('whatever the pair', () => {
  eachPair('the upstream gets the key of the vendor and never that of the caller', async pair => {
    await send(pair, bodyFor(stage, pair, HELLO))
    const values = [...stage.visit.headers.values()]
    expect(values.some(value => value.includes(VENDOR_KEY))).toBe(true)
    expect(values.some(value => value.includes(stage.duet.key))).toBe(false)
    const { authorization, 'x-api-key': apiKey, 'anthropic-version': version } = Object.fromEntries(stage.visit.headers)
    if (pair.upstream === 'chat') expect(authorization).toBe(`Bearer ${VENDOR_KEY}`)
    else
      expect({ apiKey, version }).toEqual({ apiKey: VENDOR_KEY, version: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) })
  })

  eachPair('the request goes to the path of the upstream protocol', async pair => {
    await send(pair, bodyFor(stage, pair, HELLO))
    expect(stage.visit.path).toBe(pair.upstream === 'chat' ? '/v1/chat/completions' : '/v1/messages')
  })

  eachPair(
    'a thread is refused, in the words that make the official client replay',
    async pair => {
      const visits = stage.visits.length
      const body = bodyFor(stage, pair, { ...HELLO, more: { thread: { type: 'create' } } })
      const { status, body: answer } = await send(pair, body)
      expect(status).toBe(400)
      expect(answer.error.details).toEqual({ error_code: 'thread_unsupported_request', unsupported: ['thread'] })
      expect(stage.visits.length).toBe(visits)
    },
    MESSAGES_CLIENTS,
  )
})

function send(pair: Pair, body: JsonBody, headers: Record<string, string> = {}): Promise<Answer> {
  return post(stage.duet, PATHS[pair.client], body, { headers })
}

function droppedIn(headers: Headers): readonly string[] {
  return (headers.get('x-duet-dropped') ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
    .toSorted()
}

function futureChunk(choice: string): string {
  const head = '"id":"chatcmpl-v","object":"chat.completion.chunk","created":1760000000,"model":"v"'
  return `data: {${head},"future":{"n":12345678901234567890},"choices":[{"index":0,${choice}}]}\n\n`
}
