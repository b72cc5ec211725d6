import { describe, expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { framesOf, post } from '../support/http.ts'
import {
  ask,
  bodyFor,
  CHAT_CLIENTS,
  eachPair,
  eachWay,
  type Line,
  MESSAGES_CLIENTS,
  PATHS,
  type Pair,
  type Reply,
  useSandbox,
} from './pairs.ts'

const stage = useSandbox()

const QUESTION: readonly Line[] = [{ user: 'How deep is the fjord?' }]
const UNCOUNTED: readonly Line[] = [{ user: '[[no-usage]] How deep is the fjord?' }]
const TOOL = { name: 'sound_depth', description: 'Depth of a fjord', schema: { type: 'object', properties: {} } }

async function framesFor(pair: Pair, more: Readonly<Record<string, unknown>>): Promise<JsonBody[]> {
  const body = bodyFor(stage, pair, { messages: QUESTION, stream: true, more })
  const { text } = await post(stage.duet, PATHS[pair.client], body)
  const frames = framesOf(text)
  expect(frames.at(-1)?.data).toBe('[DONE]')
  return frames.slice(0, -1).map(({ json }) => json)
}

/** The official messages client does not look for a cost at the end of a stream. */
function countsOf({ raw }: Reply): JsonBody {
  return { ...raw.usage, cost: undefined }
}

describe('the usage frame of a chat stream', () => {
  eachPair(
    'include_usage true: one frame without choices, right before the end',
    async pair => {
      const frames = await framesFor(pair, { stream_options: { include_usage: true } })
      const { usage, choices } = frames.at(-1)
      expect(choices).toEqual([])
      expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
      expect(frames.filter(frame => frame.usage)).toHaveLength(1)
    },
    CHAT_CLIENTS,
  )

  for (const [what, more] of [
    ['include_usage false', { stream_options: { include_usage: false } }],
    ['no stream_options', {}],
    ['empty stream_options', { stream_options: {} }],
    ['stream_options null', { stream_options: null }],
  ] as const) {
    eachPair(
      `${what}: no frame carries usage and none is without choices`,
      async pair => {
        const frames = await framesFor(pair, more)
        expect(frames.filter(frame => frame.usage || frame.choices.length === 0)).toEqual([])
        expect(frames.at(-1).choices[0].finish_reason).toBe('stop')
      },
      CHAT_CLIENTS,
    )
  }
})

describe('the usage of a messages stream', () => {
  eachPair(
    'it starts with the input and ends with the output',
    async pair => {
      const body = bodyFor(stage, pair, { messages: QUESTION, stream: true })
      const frames = framesOf((await post(stage.duet, PATHS.messages, body)).text).map(({ json }) => json)
      const start = frames.find(({ type }) => type === 'message_start').message.usage
      const end = frames.find(({ type }) => type === 'message_delta').usage
      expect(start.input_tokens).toBeGreaterThan(0)
      expect(Number.isInteger(start.input_tokens) && Number.isInteger(start.output_tokens)).toBe(true)
      // One client of this protocol adds the two counts up.
      expect(start.output_tokens).toBe(0)
      expect(end.output_tokens).toBeGreaterThan(0)
    },
    MESSAGES_CLIENTS,
  )
})

describe('counts', () => {
  eachPair('are the same streamed and whole', async pair => {
    for (const question of [{ messages: QUESTION }, { messages: QUESTION, tools: [TOOL] }]) {
      const whole = await ask(stage, pair, question)
      const streamed = await ask(stage, pair, { ...question, stream: true })
      expect(streamed.usage).toEqual(whole.usage)
    }
  })

  eachPair('have the same members streamed and whole', async pair => {
    const whole = await ask(stage, pair, { messages: QUESTION })
    const streamed = await ask(stage, pair, { messages: QUESTION, stream: true })
    expect(countsOf(streamed)).toEqual(countsOf(whole))
  })

  eachWay('a vendor that sends none leaves integers all the same', async (pair, stream) => {
    const { usage, raw, text } = await ask(stage, pair, { messages: UNCOUNTED, stream })
    expect(text).toContain('How deep is the fjord?')
    for (const count of [usage.input, usage.output]) {
      expect(Number.isInteger(count)).toBe(true)
      expect(count).toBeGreaterThan(0)
    }
    if (pair.client === 'chat') expect(raw.usage.total_tokens).toBe(usage.input + usage.output)
  })

  eachPair('a vendor that sends none leaves the same integers streamed and whole', async pair => {
    const whole = await ask(stage, pair, { messages: UNCOUNTED })
    const streamed = await ask(stage, pair, { messages: UNCOUNTED, stream: true })
    expect(streamed.usage).toEqual(whole.usage)
  })

  eachWay('a longer question counts for more', async (pair, stream) => {
    for (const prefix of ['', '[[no-usage]] ']) {
      const short = await ask(stage, pair, { messages: [{ user: `${prefix}Hi` }], stream })
      const long = await ask(stage, pair, { messages: [{ user: `${prefix}${'Hi there. '.repeat(50)}` }], stream })
      expect(long.usage.input).toBeGreaterThan(short.usage.input)
    }
  })
})
