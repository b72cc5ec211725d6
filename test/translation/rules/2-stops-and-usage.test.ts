import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { eventStream } from '../../support/upstream.ts'
import { chatFrame, messagesFrame } from '../../support/vendor.ts'
import { brokenEnd } from '../../support/wire.ts'
import { call, type Played, text, use, useKinds } from './stage.ts'

/** Sections 2.3 and 2.4: why an answer ended, and what it took; whole and streamed alike. */

const stage = useKinds({ chat: { protocol: 'chat' }, messages: { protocol: 'messages' } })

const DONE = 'data: [DONE]\n\n'
const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }

interface Ended {
  readonly message?: JsonBody
  readonly choice?: object
  readonly usage?: JsonBody
}

/** A chat upstream ends so; what the messages caller sees of it, whole or streamed. */
function endChat(
  stream: boolean,
  { message = { content: 'Hi' }, choice = { finish_reason: 'stop' }, usage = USAGE }: Ended,
): Promise<Played> {
  const { tool_calls, ...said } = message
  const deltas = [
    said,
    ...(tool_calls ?? []).map((made: object, index: number) => ({ tool_calls: [{ index, ...made }] })),
  ]
  const frames = [
    ...deltas.map(delta => chatFrame({ delta })),
    chatFrame({ delta: {}, ...choice }),
    ...(usage ? [chatFrame({}, { choices: [], usage })] : []),
    DONE,
  ]
  const body = {
    choices: [{ index: 0, message: { role: 'assistant', ...message }, ...choice }],
    ...(usage && { usage }),
  }
  return stage.ask(
    'messages',
    'chat',
    { stream },
    { answer: () => (stream ? eventStream(frames) : Response.json(body)) },
  )
}

/** The `message_delta` of a stream says what the body says. */
function messageEnd(played: Played, stream: boolean): JsonBody {
  if (!stream) return played.body
  const json = played.frames.find(({ event }) => event === 'message_delta')?.json
  return { ...json?.delta, usage: json?.usage }
}

/** A messages upstream ends so; what the chat caller sees of it. */
function endMessages(
  stream: boolean,
  { content = [text('Hi')], stop_reason = 'end_turn', usage = { input_tokens: 7, output_tokens: 5 } }: JsonBody,
): Promise<Played> {
  const message = {
    id: 'msg_v',
    type: 'message',
    role: 'assistant',
    model: 'v',
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  }
  const blocks = content.flatMap((block: JsonBody, index: number) => [
    messagesFrame('content_block_start', {
      index,
      content_block: block.type === 'text' ? text('') : { ...block, input: {} },
    }),
    ...(block.type === 'text'
      ? [messagesFrame('content_block_delta', { index, delta: { type: 'text_delta', text: block.text } })]
      : []),
    messagesFrame('content_block_stop', { index }),
  ])
  const frames = [
    messagesFrame('message_start', {
      message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    }),
    ...blocks,
    messagesFrame('message_delta', { delta: { stop_reason, stop_sequence: null }, usage }),
    messagesFrame('message_stop'),
  ]
  const fields = { stream, ...(stream && { stream_options: { include_usage: true } }) }
  return stage.ask('chat', 'messages', fields, {
    answer: () => (stream ? eventStream(frames) : Response.json(message)),
  })
}

function chatEnd(played: Played, stream: boolean): JsonBody {
  if (!stream) return { finish: played.body.choices[0].finish_reason, usage: played.body.usage }
  const chunks = played.frames.flatMap(({ json }) => json ?? [])
  return { finish: chunks.map(({ choices }) => choices?.[0]?.finish_reason).find(Boolean), usage: chunks.at(-1)?.usage }
}

for (const stream of [false, true]) {
  describe(stream ? 'streamed' : 'whole', () => {
    const calling = { content: null, tool_calls: [call('c1')] }
    const reasons: readonly [string, Ended, string][] = [
      ['stop', { choice: { finish_reason: 'stop' } }, 'end_turn'],
      ['stop with a call', { message: calling, choice: { finish_reason: 'stop' } }, 'tool_use'],
      ['length', { choice: { finish_reason: 'length' } }, 'max_tokens'],
      ['length with a call', { message: calling, choice: { finish_reason: 'length' } }, 'max_tokens'],
      ['tool_calls', { message: calling, choice: { finish_reason: 'tool_calls' } }, 'tool_use'],
      ['tool_calls without a call', { choice: { finish_reason: 'tool_calls' } }, 'end_turn'],
      ['function_call without a call', { choice: { finish_reason: 'function_call' } }, 'end_turn'],
      ['content_filter', { choice: { finish_reason: 'content_filter' } }, 'refusal'],
      ['sensitive', { choice: { finish_reason: 'sensitive' } }, 'refusal'],
      ['nothing', { choice: { finish_reason: null } }, 'end_turn'],
      ['an empty text', { choice: { finish_reason: '' } }, 'end_turn'],
      ['nothing with a call', { message: calling, choice: { finish_reason: null } }, 'tool_use'],
      ['a word of its own', { choice: { finish_reason: 'eos_token' } }, 'end_turn'],
    ]
    for (const [what, ended, wanted] of reasons) {
      test(`a chat answer that ends with ${what} is ${wanted}`, async () => {
        expect(messageEnd(await endChat(stream, ended), stream)).toMatchObject({
          stop_reason: wanted,
          stop_sequence: null,
        })
      })
    }

    test('a chat answer that names its stop sequence is told so', async () => {
      const played = await endChat(stream, { choice: { finish_reason: 'stop', stop_reason: 'END' } })
      expect(messageEnd(played, stream)).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' })
    })

    for (const finish_reason of ['error', 'network_error']) {
      test(`a chat answer that ends with ${finish_reason} is an error`, async () => {
        const played = await endChat(stream, { choice: { finish_reason } })
        if (stream && played.status === 200) expect(brokenEnd('messages', played.text)).toBeObject()
        else expect(played.status).toBeGreaterThanOrEqual(500)
      })
    }

    const stops = [
      ['end_turn', 'stop'],
      [null, 'stop'],
      ['stop_sequence', 'stop'],
      ['pause_turn', 'stop'],
      ['novel_reason', 'stop'],
      ['max_tokens', 'length'],
      ['model_context_window_exceeded', 'length'],
      ['compaction', 'length'],
      ['refusal', 'content_filter'],
    ] as const
    for (const [stop_reason, wanted] of stops) {
      test(`a message that ends with ${stop_reason} is ${wanted}`, async () => {
        expect(chatEnd(await endMessages(stream, { stop_reason }), stream).finish).toBe(wanted)
      })
    }

    test('a message that ends with tool_use is tool_calls', async () => {
      expect(chatEnd(await endMessages(stream, { content: [use('t1')], stop_reason: 'tool_use' }), stream).finish).toBe(
        'tool_calls',
      )
    })

    const bills: readonly [string, JsonBody, JsonBody][] = [
      ['plain', USAGE, { input_tokens: 7, output_tokens: 5 }],
      [
        'cached and written',
        {
          prompt_tokens: 100,
          completion_tokens: 5,
          total_tokens: 105,
          prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        },
        { input_tokens: 10, cache_read_input_tokens: 60, cache_creation_input_tokens: 30, output_tokens: 5 },
      ],
      [
        'hits by their older name',
        { ...USAGE, prompt_tokens: 100, total_tokens: 105, prompt_cache_hit_tokens: 60 },
        { input_tokens: 40, cache_read_input_tokens: 60 },
      ],
      ['more cached than there was', { ...USAGE, prompt_tokens_details: { cached_tokens: 9 } }, { input_tokens: 0 }],
      [
        'reasoning left out of the completion',
        { prompt_tokens: 7, completion_tokens: 5, total_tokens: 32 },
        { input_tokens: 7, output_tokens: 25 },
      ],
      [
        'reasoning',
        { ...USAGE, completion_tokens_details: { reasoning_tokens: 3 } },
        { output_tokens: 5, output_tokens_details: { thinking_tokens: 3 } },
      ],
    ]
    for (const [what, usage, wanted] of bills) {
      test(`chat usage, ${what}`, async () => {
        expect(messageEnd(await endChat(stream, { usage }), stream).usage).toMatchObject(wanted)
      })
    }

    test('chat usage that is missing is estimated', async () => {
      const { usage } = messageEnd(await endChat(stream, { usage: null }), stream)
      expect(usage.input_tokens).toBeInteger()
      expect(usage.output_tokens).toBeInteger()
      expect(usage.output_tokens).toBeGreaterThan(0)
    })

    const counts: readonly [string, JsonBody, JsonBody][] = [
      ['plain', { input_tokens: 7, output_tokens: 5 }, { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }],
      [
        'cached and written',
        { input_tokens: 10, cache_read_input_tokens: 60, cache_creation_input_tokens: 30, output_tokens: 5 },
        {
          prompt_tokens: 100,
          completion_tokens: 5,
          total_tokens: 105,
          prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        },
      ],
      [
        'with nulls',
        { input_tokens: 7, cache_read_input_tokens: null, cache_creation_input_tokens: null, output_tokens: 5 },
        { prompt_tokens: 7, total_tokens: 12 },
      ],
      [
        'with thoughts',
        { input_tokens: 7, output_tokens: 5, output_tokens_details: { thinking_tokens: 3 } },
        { completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 3 } },
      ],
    ]
    for (const [what, usage, wanted] of counts) {
      test(`messages usage, ${what}`, async () => {
        expect(chatEnd(await endMessages(stream, { usage }), stream).usage).toMatchObject(wanted)
      })
    }
  })
}

test('counters of a messages stream replace those before, and what is missing stays', async () => {
  const opening = {
    id: 'msg_v',
    type: 'message',
    role: 'assistant',
    model: 'v',
    content: [],
    stop_reason: null,
    stop_sequence: null,
  }
  const frames = [
    messagesFrame('message_start', {
      message: { ...opening, usage: { input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 3 } },
    }),
    messagesFrame('message_delta', { delta: {}, usage: { output_tokens: 4 } }),
    messagesFrame('message_delta', {
      delta: { stop_reason: 'end_turn' },
      usage: { input_tokens: 11, output_tokens: 8 },
    }),
    messagesFrame('message_stop'),
  ]
  const fields = { stream: true, stream_options: { include_usage: true } }
  const played = await stage.ask('chat', 'messages', fields, { answer: () => eventStream(frames) })
  expect(chatEnd(played, true).usage).toMatchObject({ prompt_tokens: 15, completion_tokens: 8, total_tokens: 23 })
})

test('of the counters in every chunk of a chat stream the last one counts', async () => {
  const counted = (completion_tokens: number) => ({
    usage: { prompt_tokens: 7, completion_tokens, total_tokens: 7 + completion_tokens },
  })
  const frames = [
    chatFrame({ delta: { content: 'a' } }, counted(1)),
    chatFrame({ delta: { content: 'b' } }, counted(2)),
    chatFrame({ delta: {}, finish_reason: 'stop' }, counted(3)),
    DONE,
  ]
  const played = await stage.ask('messages', 'chat', { stream: true }, { answer: () => eventStream(frames) })
  expect(messageEnd(played, true).usage).toMatchObject({ input_tokens: 7, output_tokens: 3 })
  expect(played.frames[0]?.json.message.usage).toMatchObject({ input_tokens: 7, output_tokens: 0 })
})
