import { describe, expect, test } from 'bun:test'
import { ChatReader } from '../../console/pages/playground/read-chat.ts'
import { MessagesReader } from '../../console/pages/playground/read-messages.ts'
import { requestOf, type Turn, type Wishes } from '../../console/pages/playground/request.ts'
import { type SseEvent, SseReader } from '../../console/pages/playground/sse.ts'
import { readTools } from '../../console/pages/playground/tools.ts'

/** The same stream in pieces of each size. */
function readInPieces(stream: string, size: number): SseEvent[] {
  const reader = new SseReader()
  const found: SseEvent[] = []
  for (let at = 0; at < stream.length; at += size) found.push(...reader.push(stream.slice(at, at + size)))
  return [...found, ...reader.end()]
}

describe('the stream reader of the playground', () => {
  const STREAM =
    'event: start\ndata: {"a":1}\n\n: awake\n\ndata: one\r\ndata:two\r\n\r\nid: 7\rdata:  three\r\rdata\n\n'
  const EVENTS: SseEvent[] = [
    { event: 'start', data: '{"a":1}' },
    { event: '', data: 'one\ntwo' },
    { event: '', data: ' three' },
    { event: '', data: '' },
  ]

  test('reads the same events whatever the pieces are', () => {
    for (let size = 1; size <= STREAM.length; size++) expect(readInPieces(STREAM, size)).toEqual(EVENTS)
  })

  test('tells an event when it is complete, not before', () => {
    const reader = new SseReader()
    expect(reader.push('data: half')).toEqual([])
    expect(reader.push(' and half\n')).toEqual([])
    expect(reader.push('\n')).toEqual([{ event: '', data: 'half and half' }])
    expect(reader.end()).toEqual([])
  })

  test('gives out what a stream said before it broke off', () => {
    expect(readInPieces('event: error\ndata: {"type":"error"}', 5)).toEqual([
      { event: 'error', data: '{"type":"error"}' },
    ])
  })

  test('does not gather an event without end', () => {
    const reader = new SseReader()
    const line = `data: ${'x'.repeat(1_000_000)}\n`
    expect(() => {
      for (let lines = 0; lines < 10; lines++) reader.push(line)
    }).toThrow('too large')
    expect(() => new SseReader().push('x'.repeat(5_000_000))).toThrow('too large')
  })
})

describe('what the playground reads from an answer', () => {
  const USAGE = { input: 5, cache_read: 3, cache_write: 2, output: 9, reasoning: 4 }

  test('is put together from the frames of chat', () => {
    const reader = new ChatReader()
    const say = (delta: object, finish_reason: string | null = null) =>
      reader.frame(JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] }))
    say({ role: 'assistant', content: '' })
    say({ reasoning_content: 'Let me ' })
    say({ reasoning_content: 'see.' })
    say({ content: 'Well, ' })
    say({ content: 'now.' })
    say({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{"x"' } }] })
    say({ tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'hear', arguments: '' } }] })
    say({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] })
    say({}, 'tool_calls')
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 4 },
      cost: '0.000012345',
    }
    reader.frame(JSON.stringify({ choices: [], usage }))
    reader.frame('[DONE]')
    expect(reader.answer).toMatchObject({
      text: 'Well, now.',
      reasoning: 'Let me see.',
      calls: [
        { id: 'a', name: 'look', input: '{"x":1}' },
        { id: 'b', name: 'hear', input: '' },
      ],
      ending: 'tool_calls',
      tokens: USAGE,
      cost: '0.000012345',
      error: null,
    })
  })

  test('is put together from the frames of messages', () => {
    const reader = new MessagesReader()
    const tell = (type: string, rest: object) => reader.frame(JSON.stringify({ type, ...rest }))
    const grow = (index: number, delta: object) => tell('content_block_delta', { index, delta })
    tell('message_start', { message: { usage: { input_tokens: 1, output_tokens: 0 } } })
    tell('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } })
    grow(0, { type: 'thinking_delta', thinking: 'Let me see.' })
    grow(0, { type: 'signature_delta', signature: 'seal' })
    tell('content_block_start', { index: 1, content_block: { type: 'text', text: '' } })
    tell('ping', {})
    grow(1, { type: 'text_delta', text: 'Well, ' })
    grow(1, { type: 'text_delta', text: 'now.' })
    tell('content_block_start', { index: 2, content_block: { type: 'tool_use', id: 'a', name: 'look', input: {} } })
    grow(2, { type: 'input_json_delta', partial_json: '{"x"' })
    grow(2, { type: 'input_json_delta', partial_json: ':1}' })
    const usage = {
      input_tokens: 5,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 2,
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 4 },
      cost: '0.000012345',
    }
    tell('message_delta', { delta: { stop_reason: 'tool_use' }, usage })
    tell('message_stop', {})
    expect(reader.answer).toMatchObject({
      text: 'Well, now.',
      reasoning: 'Let me see.',
      calls: [{ id: 'a', name: 'look', input: '{"x":1}' }],
      thoughts: [{ type: 'thinking', thinking: 'Let me see.', signature: 'seal' }],
      ending: 'tool_use',
      tokens: USAGE,
      cost: '0.000012345',
      error: null,
    })
  })

  test('is what was said before an error, and the error', () => {
    const error = { message: 'gone', type: 'duet_api_error', code: 'upstream_error' }
    const chat = new ChatReader()
    chat.frame(JSON.stringify({ choices: [{ delta: { content: 'Half' } }] }))
    chat.frame(JSON.stringify({ error }))
    const messages = new MessagesReader()
    messages.frame(
      JSON.stringify({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Half' } }),
    )
    messages.frame(JSON.stringify({ type: 'error', error }))
    for (const { answer } of [chat, messages])
      expect(answer).toMatchObject({ text: 'Half', cost: null, tokens: null, error: { code: 'upstream_error' } })
  })
})

describe('what the playground sends', () => {
  const WISHES: Wishes = {
    system: 'Be brief.',
    isStreamed: false,
    maxTokens: undefined,
    temperature: undefined,
    tools: [],
    toolUse: 'auto',
    output: 'text',
    schema: {},
    effort: 'default',
  }
  const CHAT = { protocol: 'chat', model: 'a/one' } as const
  const MESSAGES = { protocol: 'messages', model: 'a/one' } as const
  const thoughts = [{ type: 'thinking', thinking: 'Hm.', signature: 'seal' }]
  const answer = {
    text: '',
    reasoning: 'Hm.',
    calls: [{ id: 'c', name: 'look', input: '{"x":1}' }],
    ending: 'tool_use',
    tokens: null,
    cost: null,
    thoughts,
    error: null,
  }
  const talk = (by: typeof CHAT | typeof MESSAGES | { protocol: 'messages'; model: string }): Turn[] => [
    { role: 'user', text: 'Look' },
    { role: 'assistant', answer, by },
    { role: 'results', results: [{ id: 'c', content: 'a cat' }] },
  ]

  test('is the same conversation in the words of either protocol', () => {
    expect(requestOf(CHAT, talk(MESSAGES), WISHES)).toEqual({
      model: 'a/one',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Look' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{"x":1}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'a cat' },
      ],
    })
    expect(requestOf(MESSAGES, talk(MESSAGES), WISHES)).toEqual({
      model: 'a/one',
      max_tokens: 4096,
      system: 'Be brief.',
      messages: [
        { role: 'user', content: 'Look' },
        { role: 'assistant', content: [...thoughts, { type: 'tool_use', id: 'c', name: 'look', input: { x: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'a cat' }] },
      ],
    })
  })

  test('gives thoughts back to nobody but the model that had them', () => {
    const other = { protocol: 'messages', model: 'b/two' } as const
    expect(JSON.stringify(requestOf(MESSAGES, talk(other), WISHES))).not.toContain('seal')
  })

  test('takes tools in either protocol’s words, and says what is wrong with them', () => {
    const schema = { type: 'object', properties: {} }
    const chat = [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: schema } }]
    const messages = [{ name: 'look', description: 'Looks.', input_schema: schema }]
    const tools = [{ name: 'look', description: 'Looks.', schema }]
    expect(readTools(JSON.stringify(chat))).toEqual({ tools, fault: null })
    expect(readTools(JSON.stringify(messages))).toEqual({ tools, fault: null })
    expect(requestOf(CHAT, [], { ...WISHES, tools }).tools).toEqual(chat)
    expect(requestOf(MESSAGES, [], { ...WISHES, tools }).tools).toEqual(messages)
    expect(readTools('[{').fault).toEqual({ kind: 'json' })
    expect(readTools('{}').fault).toEqual({ kind: 'list' })
    expect(readTools('[{"name":"a"},{"description":"b"}]').fault).toEqual({ kind: 'name', at: 2 })
    expect(readTools('[{"name":"a"},{"name":"a"}]').fault).toEqual({ kind: 'twice', at: 2 })
  })
})
