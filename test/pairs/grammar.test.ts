import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { post } from '../support/http.ts'
import { faultsInChat, faultsInMessages } from './grammar.ts'
import {
  bodyFor,
  eachPair,
  isReasoning,
  type Line,
  PAIRS,
  PATHS,
  type Pair,
  type Question,
  useSandbox,
} from './pairs.ts'
import { framesOf, PLAIN_USAGE, type Said } from './wire.ts'

const stage = useSandbox()

const TIDE = {
  name: 'tide_table',
  description: 'High and low water',
  schema: { type: 'object', properties: { port: { type: 'string' } }, required: ['port'] },
}
const MOON = { name: 'moon_phase', description: 'Phase of the moon', schema: { type: 'object', properties: {} } }
const HELLO: readonly Line[] = [{ user: 'Hello, 世界 🦜' }]
const SCHEMA = { type: 'object', properties: { port: { type: 'string' } }, required: ['port'] }

interface Scene extends Question {
  readonly what: string
  readonly thinks?: boolean
  /** Only these clients can ask for it. */
  readonly client?: Pair['client']
}

const SCENES: readonly Scene[] = [
  { what: 'text', messages: HELLO },
  { what: 'a long text', messages: [{ user: '[[tokens 400]] Go on.' }] },
  { what: 'text that a cap cut', messages: HELLO, maxTokens: 3 },
  { what: 'one call', messages: [{ user: 'The tide table of Brest?' }], tools: [TIDE] },
  { what: 'two calls', messages: [{ user: 'The tide table and the moon phase?' }], tools: [TIDE, MOON] },
  { what: 'a call without arguments', messages: [{ user: 'The moon phase?' }], tools: [MOON] },
  { what: 'a call that a cap cut', messages: [{ user: 'The tide table?' }], tools: [TIDE], maxTokens: 2 },
  { what: 'thoughts and text', messages: HELLO, thinks: true },
  {
    what: 'thoughts and two calls',
    messages: [{ user: 'Tide table, moon phase?' }],
    tools: [TIDE, MOON],
    thinks: true,
  },
  { what: 'thoughts and a cap', messages: HELLO, maxTokens: 12, thinks: true },
  {
    what: 'thoughts that were asked for',
    messages: HELLO,
    thinks: true,
    client: 'messages',
    more: { thinking: { type: 'enabled', budget_tokens: 1024 } },
  },
  {
    what: 'thoughts that were asked for and a call',
    messages: [{ user: 'The moon phase?' }],
    tools: [MOON],
    thinks: true,
    client: 'messages',
    more: { thinking: { type: 'adaptive' } },
  },
  { what: 'JSON by a schema', messages: HELLO, json: SCHEMA },
  { what: 'any JSON', messages: HELLO, json: true, client: 'chat' },
  { what: 'any JSON beside tools', messages: HELLO, json: true, tools: [TIDE], client: 'chat' },
  { what: 'no usage from the vendor', messages: [{ user: '[[no-usage]] Hello' }] },
  { what: 'a cut', messages: [{ user: '[[cut 4]] Hello' }] },
  { what: 'a cut in the middle of a call', messages: [{ user: '[[cut 1]] The tide table?' }], tools: [TIDE] },
]

async function streamOf(pair: Pair, { what: _, thinks, client: __, ...question }: Scene, more = {}): Promise<string> {
  const model = stage.model(pair.upstream, thinks ? isReasoning : undefined)
  const body = bodyFor(stage, pair, { model, ...question, stream: true, more: { ...question.more, ...more } })
  const { status, text } = await post(stage.duet, PATHS[pair.client], body)
  expect(status).toBe(200)
  return text
}

describe('every stream follows the grammar of its protocol', () => {
  for (const scene of SCENES) {
    const able = PAIRS.filter(({ client }) => scene.client === undefined || scene.client === client)
    eachPair(
      scene.what,
      async pair => {
        if (pair.client === 'messages') {
          expect(faultsInMessages(await streamOf(pair, scene))).toEqual([])
          return
        }
        expect(faultsInChat(await streamOf(pair, scene), { usageAsked: false })).toEqual([])
        const asked = await streamOf(pair, scene, { stream_options: { include_usage: true } })
        expect(faultsInChat(asked, { usageAsked: true })).toEqual([])
      },
      able,
    )
  }
})

describe('the grammar finds what is wrong', () => {
  const said: Said = {
    reasoning: 'Hm.',
    text: 'Yes.',
    calls: [{ id: 'call_1', name: 'moon_phase', arguments: '{"a":1}' }],
    finish: 'tool_calls',
    usage: PLAIN_USAGE,
  }
  const messages = framesOf('messages', said)
  const chat = framesOf('chat', said)
  const usageAsked = true

  test('nothing in streams that are in order', () => {
    expect(faultsInMessages(messages.join(''))).toEqual([])
    expect(faultsInChat(chat.join(''), { usageAsked })).toEqual([])
  })

  const at = (frames: readonly string[], words: string) => frames.findIndex(frame => frame.includes(words))
  const without = (frames: readonly string[], words: string) => frames.toSpliced(at(frames, words), 1)
  const twice = (frames: readonly string[], words: string) =>
    frames.toSpliced(at(frames, words), 0, frames[at(frames, words)] ?? '')
  const edit = (frames: readonly string[], from: string, to: string) =>
    frames.with(
      at(frames, from),
      (frames[at(frames, from)] ?? '').replace(from, () => to),
    )

  const MESSAGES_FAULTS: readonly [string, readonly string[]][] = [
    ['A1', edit(messages, 'event: message_stop\n', '')],
    ['A1', edit(messages, 'event: content_block_stop', 'event: content_block_end')],
    ['A2', messages.slice(1)],
    ['A2', twice(messages, 'message_start')],
    ['A3', messages.map(frame => frame.replace('"index":2', '"index":3'))],
    ['A4', without(messages, 'content_block_stop')],
    ['A4', without(messages, 'content_block_start')],
    ['A5', edit(messages, '"type":"text_delta"', '"type":"thinking_delta"')],
    ['A6', edit(messages, '"type":"text_delta","text":"Yes."', '"type":"text_delta","text":""')],
    ['A6', edit(messages, '"type":"text","text":""', '"type":"text","text":"Yes"')],
    ['A7', without(messages, 'event: message_delta')],
    ['A7', twice(messages, 'event: message_delta')],
    ['A7', edit(messages, '"stop_reason":"tool_use"', '"stop_reason":null')],
    ['A8', without(messages, 'message_stop')],
    ['A8', [...messages, 'data: [DONE]\n\n']],
    ['A9', [...messages.slice(0, -1), 'event: news\ndata: {"type":"news"}\n\n', ...messages.slice(-1)]],
    ['A10', ['event: error\ndata: {"type":"error","error":{"message":"no"}}\n\n', ...messages]],
  ]
  for (const [place, [rule, frames]] of MESSAGES_FAULTS.entries()) {
    test(`${rule} (fault ${place + 1})`, () => {
      expect(faultsInMessages(frames.join('')).map(ruleOf)).toContain(rule)
    })
  }

  const CHAT_FAULTS: readonly [string, readonly string[]][] = [
    ['O1', edit(chat, '"object":"chat.completion.chunk"', '"object":"chunk"')],
    ['O1', [...chat.slice(0, 2), (chat[2] ?? '').replace('chatcmpl-vendor', 'chatcmpl-other'), ...chat.slice(3)]],
    ['O2', edit(chat, '"index":0,"delta":{"content"', '"index":1,"delta":{"content"')],
    ['O3', edit(chat, '"delta":{"content":"Yes."}', '"delta":{"role":"assistant","content":"Yes."}')],
    ['O3', edit(chat, '"role":"assistant",', '')],
    ['O4', chat.map(frame => frame.replace('"tool_calls":[{"index":0', '"tool_calls":[{"index":1'))],
    ['O4', edit(chat, '{"index":0,"function"', '{"index":0,"id":"call_1","function"')],
    ['O5', without(chat, '"finish_reason":"tool_calls"')],
    ['O5', twice(chat, '"finish_reason":"tool_calls"')],
    ['O5', edit(chat, '"delta":{},', '"delta":{"content":"more"},')],
    ['O6', without(chat, '"choices":[]')],
    ['O6', edit(chat, ',"usage":null', '')],
    ['O7', chat.slice(0, -1)],
    ['O8', edit(chat, 'data: ', 'event: message\ndata: ')],
    ['O8', ['data: \n\n', ...chat]],
    ['O9', edit(chat, '"content":"Yes."', '"content":null')],
  ]
  for (const [place, [rule, frames]] of CHAT_FAULTS.entries()) {
    test(`${rule} (fault ${place + 1})`, () => {
      expect(faultsInChat(frames.join(''), { usageAsked }).map(ruleOf)).toContain(rule)
    })
  }

  const ruleOf = (fault: JsonBody) => fault.split(' ')[0]
})
