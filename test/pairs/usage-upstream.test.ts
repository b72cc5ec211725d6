import { describe, expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { post } from '../support/http.ts'
import { eventStream } from '../support/upstream.ts'
import {
  ask,
  bodyFor,
  CHAT_CLIENTS,
  eachPair,
  eachWay,
  type Line,
  MESSAGES_CLIENTS,
  PATHS,
  useScript,
} from './pairs.ts'
import { chatFrame, type Said, saying } from './wire.ts'

const stage = useScript()

const QUESTION: readonly Line[] = [{ user: 'How much is cached?' }]
const said = (chat: JsonBody, messages: JsonBody): Said => ({
  text: 'Most of it.',
  finish: 'stop',
  usage: { chat, messages },
})

/** One and the same bill in the words of both protocols: 1000 tokens in, of which 600 read and 100 written, 50 out. */
const CACHED = said(
  {
    prompt_tokens: 1000,
    completion_tokens: 50,
    total_tokens: 1050,
    prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 100 },
    completion_tokens_details: { reasoning_tokens: 20 },
  },
  {
    input_tokens: 300,
    output_tokens: 50,
    cache_read_input_tokens: 600,
    cache_creation_input_tokens: 100,
    output_tokens_details: { thinking_tokens: 20 },
  },
)

const PARTLY_NULL = said(
  { prompt_tokens: 40, completion_tokens: 5, total_tokens: 45, prompt_tokens_details: null },
  { input_tokens: 40, output_tokens: 5, cache_read_input_tokens: null, cache_creation_input_tokens: null },
)

describe('cached tokens', () => {
  eachWay(
    'a chat client sees them as parts of prompt_tokens',
    async (pair, stream) => {
      stage.answer = saying(CACHED)
      const { usage } = (await ask(stage, pair, { messages: QUESTION, stream })).raw
      expect(usage).toMatchObject({
        prompt_tokens: 1000,
        completion_tokens: 50,
        total_tokens: 1050,
        prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 100 },
        completion_tokens_details: { reasoning_tokens: 20 },
      })
    },
    CHAT_CLIENTS,
  )

  eachWay(
    'a messages client sees them apart from input_tokens',
    async (pair, stream) => {
      stage.answer = saying(CACHED)
      const { usage } = (await ask(stage, pair, { messages: QUESTION, stream })).raw
      expect(usage).toMatchObject({
        input_tokens: 300,
        output_tokens: 50,
        cache_read_input_tokens: 600,
        cache_creation_input_tokens: 100,
        output_tokens_details: { thinking_tokens: 20 },
      })
    },
    MESSAGES_CLIENTS,
  )

  eachPair('each is paid once, at the price of its class', async pair => {
    stage.answer = saying(CACHED)
    const { headers } = await post(stage.duet, PATHS[pair.client], bodyFor(stage, pair, { messages: QUESTION }))
    // 300 x $1 + 600 x $0.1 + 100 x $1.25 + 50 x $4, each per million.
    expect(Number(headers.get('x-duet-cost'))).toBeCloseTo(0.000685, 9)
  })

  eachPair('a stream is paid like a body', async pair => {
    stage.answer = saying(CACHED)
    const spent = async () => Number((await stage.duet.admin('GET', '/api/keys')).body.data[0].spent)
    const before = await spent()
    await ask(stage, pair, { messages: QUESTION })
    const between = await spent()
    await ask(stage, pair, { messages: QUESTION, stream: true })
    expect(between - before).toBeCloseTo(0.000685, 9)
    expect((await spent()) - between).toBeCloseTo(0.000685, 9)
  })

  eachPair(
    'a vendor that counts hits and misses in its own words is understood',
    async pair => {
      const chat = {
        prompt_tokens: 90,
        completion_tokens: 5,
        total_tokens: 95,
        prompt_cache_hit_tokens: 64,
        prompt_cache_miss_tokens: 26,
      }
      stage.answer = saying(said(chat, {}))
      const { usage } = (await ask(stage, pair, { messages: QUESTION })).raw
      expect(usage).toMatchObject({ input_tokens: 26, cache_read_input_tokens: 64, output_tokens: 5 })
    },
    [{ client: 'messages', upstream: 'chat' }],
  )
})

describe('odd counts', () => {
  eachWay('null counts as nothing', async (pair, stream) => {
    stage.answer = saying(PARTLY_NULL)
    const { usage, raw } = await ask(stage, pair, { messages: QUESTION, stream })
    expect(usage).toEqual({ input: 40, output: 5 })
    if (pair.client === 'chat') expect(raw.usage.total_tokens).toBe(45)
  })

  eachWay(
    'reasoning that a vendor leaves out of completion_tokens is found in the total',
    async (pair, stream) => {
      stage.answer = saying(said({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 115 }, {}))
      expect((await ask(stage, pair, { messages: QUESTION, stream })).usage).toEqual({ input: 10, output: 105 })
    },
    [{ client: 'messages', upstream: 'chat' }],
  )

  eachPair(
    'counts on every chunk are not added up',
    async pair => {
      const usage = (completion_tokens: number) => ({
        prompt_tokens: 30,
        completion_tokens,
        total_tokens: 30 + completion_tokens,
      })
      const chunk = (delta: object, finish_reason: string | null, count: number) =>
        chatFrame({ choices: [{ index: 0, delta, finish_reason }], usage: usage(count) })
      stage.answer = () =>
        eventStream([
          chunk({ role: 'assistant', content: 'One' }, null, 1),
          chunk({ content: ' two' }, null, 2),
          chunk({ content: ' three' }, null, 3),
          chunk({}, 'stop', 3),
          chatFrame({ choices: [], usage: usage(3) }),
          'data: [DONE]\n\n',
        ])
      const { text, usage: counted } = await ask(stage, pair, { messages: QUESTION, stream: true })
      expect({ text, counted }).toEqual({ text: 'One two three', counted: { input: 30, output: 3 } })
    },
    [
      { client: 'chat', upstream: 'chat' },
      { client: 'messages', upstream: 'chat' },
    ],
  )

  eachPair('the gateway asks the upstream for usage whatever the client says', async pair => {
    stage.answer = saying(CACHED)
    const more = pair.client === 'chat' ? { stream_options: { include_usage: false } } : {}
    const body = bodyFor(stage, pair, { messages: QUESTION, stream: true, more })
    await post(stage.duet, PATHS[pair.client], body)
    const asked = stage.visit.body.stream_options
    if (pair.upstream === 'chat') expect(asked).toEqual({ include_usage: true })
    else expect(asked).toBeUndefined()
  })
})
