import { describe, expect, test } from 'bun:test'
import {
  ask,
  type ChatChunk,
  chatChunks,
  dataOf,
  messagesEvents,
  PROTOCOLS,
  rawPost,
  streamText,
  type Turn,
  tools,
  useSandbox,
} from './support.ts'

const sandbox = useSandbox()

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const WEATHER = { name: 'get_weather', schema: SCHEMA }
const CLOCK = { name: 'local_time', schema: SCHEMA }
const BOTH = 'weather and local time in Paris'

describe('chat streams', () => {
  const turns: readonly (readonly [title: string, turn: Turn])[] = [
    ['text', { user: 'Hello' }],
    ['a thought and text', { user: 'Hello', model: 'acme/think' }],
    ['two calls', { user: BOTH, more: tools('chat', WEATHER, CLOCK) }],
    ['a thought and a call', { user: 'weather?', model: 'acme/think', more: tools('chat', WEATHER) }],
    ['a cut text', { user: 'Hello', more: { max_tokens: 1 } }],
    ['no text at all', { user: 'Hello', more: { stop: 'You' } }],
  ]
  for (const [title, turn] of turns) {
    test(`${title}: every chunk has the same head, the role comes first and one finish comes last`, async () => {
      const text = await streamText(sandbox.url, 'chat', turn)
      expect(text).toEndWith('\n\ndata: [DONE]\n\n')
      expect(text).not.toContain('event:')

      const chunks = dataOf<ChatChunk>(text)
      const heads = chunks.map(({ id, object, created, model }) => JSON.stringify({ id, object, created, model }))
      expect(new Set(heads).size).toBe(1)
      expect(chunks[0]).toMatchObject({
        id: expect.stringMatching(/^chatcmpl-[0-9a-f]{24}$/),
        object: 'chat.completion.chunk',
        model: turn.model ?? 'acme/swift',
        choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
      })

      const choices = chunks.flatMap(chunk => chunk.choices)
      expect(choices).toHaveLength(chunks.length)
      expect(choices.filter(({ delta }) => delta.role !== undefined)).toHaveLength(1)
      expect(choices.filter(({ finish_reason }) => finish_reason !== null)).toEqual(choices.slice(-1))
      expect(choices.at(-1)?.delta).toEqual({})
      expect(choices.slice(1, -1).filter(({ delta }) => Object.keys(delta).length !== 1)).toEqual([])
    })
  }

  test('usage comes in a frame of its own, only when it is asked for', async () => {
    const without = await chatChunks(sandbox.url, { user: 'Hello' })
    expect(without.filter(chunk => 'usage' in chunk)).toEqual([])

    const chunks = await chatChunks(sandbox.url, { user: 'Hello', more: { stream_options: { include_usage: true } } })
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 1 } })
    expect(chunks.slice(0, -1).filter(({ usage }) => usage !== null)).toEqual([])
  })

  test('a call opens with its id and name, then its arguments come in fragments, call after call', async () => {
    const chunks = await chatChunks(sandbox.url, { user: BOTH, more: tools('chat', WEATHER, CLOCK) })
    const calls = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []))
    const opening = (index: number, name: string) => ({
      index,
      id: expect.stringMatching(/^call_[0-9a-f]{24}$/),
      type: 'function',
      function: { name, arguments: '' },
    })
    const fragments = (index: number) =>
      ['{"city', '":"Par', 'is"}'].map(text => ({ index, function: { arguments: text } }))
    expect(calls).toEqual([opening(0, 'get_weather'), ...fragments(0), opening(1, 'local_time'), ...fragments(1)])
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls')
  })

  test('a thought comes before the text', async () => {
    const chunks = await chatChunks(sandbox.url, { user: 'Hello', model: 'acme/think' })
    const kinds = chunks.map(({ choices }) => Object.keys(choices[0]?.delta ?? {})[0])
    expect(kinds.lastIndexOf('reasoning_content')).toBeLessThan(kinds.indexOf('content', 1))
    expect(kinds.indexOf('reasoning_content')).toBe(1)
  })
})

describe('messages streams', () => {
  test('text: the events come in their order, with one ping', async () => {
    const events = await messagesEvents(sandbox.url, { user: 'Hello', more: { max_tokens: 3 } })
    expect(events).toEqual([
      {
        type: 'message_start',
        message: {
          id: expect.stringMatching(/^msg_[0-9a-f]{24}$/),
          type: 'message',
          role: 'assistant',
          model: 'acme/swift',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'You' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' said:' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' "Hello' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'max_tokens', stop_sequence: null }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ])
  })

  test('every frame names its event, and nothing follows message_stop', async () => {
    const text = await streamText(sandbox.url, 'messages', { user: 'Hello', model: 'acme/think' })
    const frames = text.split('\n\n')
    expect(frames.pop()).toBe('')
    for (const frame of frames) {
      const [event, data, ...rest] = frame.split('\n')
      expect(rest).toEqual([])
      expect(event).toBe(`event: ${JSON.parse(data?.slice('data: '.length) ?? '').type}`)
    }
    expect(frames.at(-1)).toStartWith('event: message_stop')
  })

  test('a thought, then two calls: blocks are numbered without gaps and one is open at a time', async () => {
    const more = tools('messages', WEATHER, CLOCK)
    const events = await messagesEvents(sandbox.url, { user: BOTH, model: 'acme/think', more })
    const outline = events
      .map(({ type, index, content_block, delta }) =>
        [type, index, content_block?.type ?? delta?.type].join(' ').trim(),
      )
      .filter((line, at, lines) => line !== lines[at - 1])
    expect(outline).toEqual([
      'message_start',
      'content_block_start 0 thinking',
      'ping',
      'content_block_delta 0 thinking_delta',
      'content_block_delta 0 signature_delta',
      'content_block_stop 0',
      'content_block_start 1 tool_use',
      'content_block_delta 1 input_json_delta',
      'content_block_stop 1',
      'content_block_start 2 tool_use',
      'content_block_delta 2 input_json_delta',
      'content_block_stop 2',
      'message_delta',
      'message_stop',
    ])
    const starts = events.filter(({ type }) => type === 'content_block_start').map(event => event.content_block)
    expect(starts[0]).toEqual({ type: 'thinking', thinking: '', signature: '' })
    expect(starts[1]).toMatchObject({
      id: expect.stringMatching(/^toolu_[0-9a-f]{24}$/),
      name: 'get_weather',
      input: {},
    })
  })

  test('output tokens at the end include the reasoning', async () => {
    const events = await messagesEvents(sandbox.url, { user: 'Hello', model: 'acme/think', more: { max_tokens: 12 } })
    expect(Number(events.at(-2)?.usage?.output_tokens)).toBeGreaterThan(212)
  })
})

for (const protocol of PROTOCOLS) {
  test(`${protocol}: each frame travels as a chunk of its own`, async () => {
    const { text } = await rawPost(sandbox.url, protocol, { ...ask(protocol, { user: 'Hello' }), stream: true })
    const chunks = text.match(/^[0-9a-f]+\r\n(?:data|event): /gm) ?? []
    const frames = text.match(/^(?:[0-9a-f]+\r\n)?data: /gm) ?? []
    expect(frames.length).toBeGreaterThan(15)
    expect(chunks).toHaveLength(frames.length)
  })
}
