import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { eventStream } from '../../support/upstream.ts'
import { chatFrame, messagesFrame } from '../../support/vendor.ts'
import { idOf, PROTOCOLS } from '../../support/wire.ts'
import { type Played, type Script, text, use, useKinds } from '../rules/stage.ts'
import { DONE } from './chunks.ts'

/** What an upstream has counted at the beginning is not what its answer came to. */

const stage = useKinds({ chat: { protocol: 'chat' }, messages: { protocol: 'messages' } })

/** As the gateway counts: four characters each. */
const TOKENS = 100
const SPOKEN = 'word'.repeat(TOKENS)

async function billOf(played: Played): Promise<JsonBody> {
  expect(played.status).toBe(200)
  const { body } = await stage.duet.admin('GET', `/api/usage/${idOf(played)}`)
  return body
}

const start = messagesFrame('message_start', {
  message: {
    ...{ id: 'msg_v', type: 'message', role: 'assistant', model: 'v', content: [] },
    ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 7, output_tokens: 1 } },
  },
})

const saying = (index: number, value: string) => [
  messagesFrame('content_block_start', { index, content_block: text('') }),
  messagesFrame('content_block_delta', { index, delta: { type: 'text_delta', text: value } }),
  messagesFrame('content_block_stop', { index }),
]

const calling = (index: number, name: string, made: string) => [
  messagesFrame('content_block_start', { index, content_block: use('t1', name) }),
  messagesFrame('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: made } }),
  messagesFrame('content_block_stop', { index }),
]

const ending = (stop_reason: string, more: object) => [
  messagesFrame('message_delta', { delta: { stop_reason, stop_sequence: null }, ...more }),
  messagesFrame('message_stop'),
]

describe('a messages upstream that counts one token at the start', () => {
  const cases: readonly [usage: object, input: number][] = [
    [{}, 7],
    [{ output_tokens: null }, 7],
    [{ input_tokens: 5 }, 5],
  ]
  for (const client of PROTOCOLS) {
    for (const [usage, input] of cases) {
      test(`and ends with ${JSON.stringify(usage)} is charged for its text: ${client} client`, async () => {
        const frames = [start, ...saying(0, SPOKEN), ...ending('end_turn', { usage })]
        const played = await stage.ask(client, 'messages', { stream: true }, { answer: () => eventStream(frames) })
        expect(await billOf(played)).toMatchObject({ source: 'counted', tokens: { input, output: TOKENS } })
      })
    }
  }
})

describe('a chat upstream that counts one token early', () => {
  const usage = { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 }
  const frames = [
    chatFrame({ delta: { role: 'assistant', content: '' } }, { usage }),
    chatFrame({ delta: { content: SPOKEN } }),
    chatFrame({ delta: {}, finish_reason: 'stop' }),
    DONE,
  ]
  for (const client of PROTOCOLS) {
    test(`and never again is charged for its text: ${client} client`, async () => {
      const played = await stage.ask(client, 'chat', { stream: true }, { answer: () => eventStream(frames) })
      expect(await billOf(played)).toMatchObject({ source: 'counted', tokens: { input: 7, output: TOKENS } })
    })
  }
})

describe('text that is not shown in JSON mode is charged where the upstream does not count', () => {
  const made = '{"answer":1}'
  const output = TOKENS + made.length / 4
  const head = { id: 'msg_v', type: 'message', role: 'assistant', model: 'v' }
  const tools = [{ type: 'function', function: { name: 'f' } }]
  /** Where the caller has tools of its own, the model is asked for JSON in words. */
  const means = {
    'the input of a tool': {
      fields: {},
      frames: [...saying(0, SPOKEN), ...calling(1, 'structured_output', made), ...ending('tool_use', {})],
      body: { content: [text(SPOKEN), use('t1', 'structured_output', { answer: 1 })], stop_reason: 'tool_use' },
    },
    'cut out of the text': {
      fields: { tools },
      frames: [...saying(0, SPOKEN + made), ...ending('end_turn', {})],
      body: { content: [text(SPOKEN + made)], stop_reason: 'end_turn' },
    },
  }
  for (const [what, { fields, frames, body }] of Object.entries(means)) {
    const ways: readonly [string, boolean, Script][] = [
      ['streamed', true, () => eventStream([start, ...frames])],
      ['whole', false, () => Response.json({ ...head, ...body })],
      ['streamed from a whole answer', true, () => Response.json({ ...head, ...body })],
    ]
    for (const [way, stream, answer] of ways) {
      test(`${what}, ${way}`, async () => {
        const asked = { response_format: { type: 'json_object' }, stream, ...fields }
        const played = await stage.ask('chat', 'messages', asked, { answer })
        expect(played.text).not.toContain('wordword')
        const { source, tokens } = await billOf(played)
        expect({ source, output: tokens.output }).toEqual({ source: 'counted', output })
      })
    }
  }
})
