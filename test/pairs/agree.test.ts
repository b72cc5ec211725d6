import { describe, expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { ask, eachPair, eachWay, type Pair, type Reply, UNLIKE, useScript } from './pairs.ts'
import { PLAIN_USAGE, type Said, saying } from './wire.ts'

const stage = useScript('    reasoning: true')

const usage = PLAIN_USAGE
const COUNT = { id: 'call_1', name: 'count', arguments: '{"from":1,"to":{"n":10}}' }
const MEASURE = { id: 'call_2', name: 'measure', arguments: '{}' }

const SCRIPT: readonly { readonly what: string; readonly said: Said }[] = [
  { what: 'a text', said: { text: 'Twice a day, 世界 🦜.\n\n  - indented\n', finish: 'stop', usage } },
  { what: 'a text that a cap cut', said: { text: 'Twice a', finish: 'length', usage } },
  { what: 'a refusal', said: { text: 'I would rather not.', finish: 'content_filter', usage } },
  { what: 'a call', said: { calls: [COUNT], finish: 'tool_calls', usage } },
  { what: 'two calls', said: { calls: [COUNT, MEASURE], finish: 'tool_calls', usage } },
  { what: 'a text and a call', said: { text: 'Let me count.', calls: [COUNT], finish: 'tool_calls', usage } },
  { what: 'thoughts and a text', said: { reasoning: 'Hm, tides.', text: 'Twice.', finish: 'stop', usage } },
  {
    what: 'thoughts, a text and two calls',
    said: {
      reasoning: 'Both, I think.',
      text: 'Let me see.',
      calls: [COUNT, MEASURE],
      finish: 'tool_calls',
      usage,
    },
  },
  { what: 'a text without usage', said: { text: 'Twice a day.', finish: 'stop' } },
]

const TOOLS = ['count', 'measure'].map(name => ({ name, schema: { type: 'object', properties: {} } }))
const THINKING = { thinking: { type: 'enabled', budget_tokens: 1024 } }

interface Wishes {
  readonly stream: boolean
  readonly thinking: boolean
}

async function hear(pair: Pair, said: Said, { stream, thinking }: Wishes): Promise<JsonBody> {
  stage.answer = saying(said)
  const more = thinking && pair.client === 'messages' ? THINKING : {}
  const messages = [{ user: 'How often does the tide come in?' }]
  const reply = await ask(stage, pair, { messages, tools: TOOLS, stream, more })
  return { ...essence(reply), native: pair.client === 'chat' ? chatEssence(reply) : messagesEssence(reply) }
}

/** What must not depend on the way; ids and models are checked elsewhere. */
function essence({ text, reasoning, toolCalls, finish, usage: counted }: Reply): object {
  return { text, reasoning, toolCalls, finish, counted }
}

function chatEssence({ raw }: Reply): JsonBody {
  const { role, content, tool_calls } = raw.choices[0].message
  return { object: raw.object, role, content, tool_calls: tool_calls ?? [] }
}

/** Block by block, in order. Signatures exist only where the vendor speaks messages. */
function messagesEssence({ raw }: Reply): JsonBody {
  const content = raw.content.map(({ type, text, thinking, id, name, input }: JsonBody) => ({
    type,
    ...(type === 'text' && { text }),
    ...(type === 'thinking' && { thinking }),
    ...(type === 'tool_use' && { id, name, input }),
  }))
  const { type, role, stop_reason, stop_sequence } = raw
  return { type, role, stop_reason, stop_sequence, content }
}

describe('an answer is the same streamed and whole', () => {
  for (const { what, said } of SCRIPT) {
    eachPair(what, async pair => {
      const whole = await hear(pair, said, { stream: false, thinking: true })
      const streamed = await hear(pair, said, { stream: true, thinking: true })
      if (said.usage === undefined) {
        expect({ ...streamed, counted: {} }).toEqual({ ...whole, counted: {} })
        return
      }
      expect(streamed).toEqual(whole)
    })
  }
})

describe('an answer is the one that was scripted', () => {
  for (const { what, said } of SCRIPT) {
    eachWay(what, async (pair, stream) => {
      const heard = await hear(pair, said, { stream, thinking: true })
      expect(heard).toMatchObject({
        text: said.text ?? '',
        reasoning: said.reasoning ?? '',
        toolCalls: said.calls ?? [],
        finish: said.finish,
        counted: said.usage ? { input: 11, output: 7 } : {},
      })
    })
  }
})

describe('a like pair and an unlike pair agree', () => {
  for (const { what, said } of SCRIPT.filter(row => row.said.usage)) {
    for (const thinking of [false, true]) {
      eachWay(
        `${what}, ${thinking ? 'with thoughts asked for' : 'without'}`,
        async (pair, stream) => {
          const straight = await hear({ client: pair.client, upstream: pair.client }, said, { stream, thinking })
          const translated = await hear(pair, said, { stream, thinking })
          expect(translated).toEqual(straight)
        },
        UNLIKE,
      )
    }
  }
})
