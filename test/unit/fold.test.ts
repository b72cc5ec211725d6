import { describe, expect, test } from 'bun:test'
import type { ProtocolName } from '../../src/core/ask.ts'
import { PROTOCOLS } from '../../src/protocol/protocols.ts'
import { SseReader } from '../../src/protocol/sse.ts'
import type { JsonBody } from '../support/duet.ts'
import { chatFrame, messagesFrame } from '../support/vendor.ts'

/** A stream put together again. */
function folded(protocol: ProtocolName, frames: readonly string[]): JsonBody {
  const folder = PROTOCOLS[protocol].foldStream()
  const reader = new SseReader()
  for (const frame of frames) for (const read of reader.push(new TextEncoder().encode(frame))) folder.push(read)
  return JSON.parse(folder.render())
}

describe('a chat stream as a whole answer', () => {
  const delta = (fields: object, more: object = {}) => chatFrame({ delta: fields, ...more })
  const END = [chatFrame({ delta: {}, finish_reason: 'stop' }), 'data: [DONE]\n\n']

  test('has its texts in one piece, and the usage of its last chunk', () => {
    const body = folded('chat', [
      delta({ role: 'assistant', content: '' }),
      delta({ reasoning_content: 'Let me ' }),
      delta({ reasoning_content: 'see.' }),
      delta({ content: 'Good' }),
      delta({ content: ' morning' }),
      chatFrame({ delta: {}, finish_reason: 'stop' }),
      chatFrame({}, { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }),
      'data: [DONE]\n\n',
    ])
    expect(body).toEqual({
      id: 'chatcmpl-vendor',
      object: 'chat.completion',
      created: 1,
      model: 'swift-2-large',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Good morning', refusal: null, reasoning_content: 'Let me see.' },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    })
  })

  test('has the calls that its fragments make, however they are mixed', () => {
    const call = (index: number, fields: object) => delta({ tool_calls: [{ index, ...fields }] })
    const { message } = folded('chat', [
      call(0, { id: 'a', type: 'function', function: { name: 'one', arguments: '' } }),
      call(1, { id: 'b', type: 'custom', custom: { name: 'two', input: '' } }),
      call(0, { function: { arguments: '{"big":' } }),
      call(1, { custom: { input: 'plain ' } }),
      call(0, { function: { arguments: '12345678901234567890}' } }),
      call(1, { custom: { input: 'text' } }),
      ...END,
    ]).choices[0]
    expect(message.content).toBeNull()
    expect(message.tool_calls).toEqual([
      { id: 'a', type: 'function', function: { name: 'one', arguments: '{"big":12345678901234567890}' } },
      { id: 'b', type: 'custom', custom: { name: 'two', input: 'plain text' } },
    ])
  })

  test('has all answers that were asked for, in their order', () => {
    const { choices } = folded('chat', [
      chatFrame({ index: 1, delta: { content: 'second' } }),
      chatFrame({ index: 0, delta: { content: 'first' } }),
      chatFrame({ index: 1, delta: {}, finish_reason: 'length' }),
      chatFrame({ index: 0, delta: {}, finish_reason: 'stop' }),
    ])
    expect(choices).toMatchObject([
      { index: 0, message: { content: 'first' }, finish_reason: 'stop' },
      { index: 1, message: { content: 'second' }, finish_reason: 'length' },
    ])
  })

  test('keeps what a vendor adds: lists grow, all else is as it was said last', () => {
    const body = folded('chat', [
      chatFrame(
        { delta: { content: 'a', annotations: [1] }, logprobs: { content: ['p'] } },
        { system_fingerprint: 'fp', citations: ['x'] },
      ),
      chatFrame({ delta: { content: 'b', annotations: [2] }, logprobs: { content: ['q'] } }, { citations: ['x', 'y'] }),
      chatFrame({ delta: {}, finish_reason: 'stop', native_finish_reason: 'end' }, { system_fingerprint: null }),
    ])
    expect(body).toMatchObject({ system_fingerprint: 'fp', citations: ['x', 'y'] })
    expect(body.choices[0]).toMatchObject({
      message: { annotations: [1, 2] },
      logprobs: { content: ['p', 'q'] },
      native_finish_reason: 'end',
    })
  })

  test('is no way into our own objects', () => {
    const delta = JSON.parse('{"__proto__":{"stained":true},"function_call":{"__proto__":{"stained":true}}}')
    folded('chat', [chatFrame({ delta, finish_reason: 'stop' })])
    expect('stained' in {}).toBe(false)
  })
})

describe('a messages stream as a whole answer', () => {
  const start = (index: number, content_block: object) => messagesFrame('content_block_start', { index, content_block })
  const delta = (index: number, fields: object) => messagesFrame('content_block_delta', { index, delta: fields })
  const message = { id: 'msg', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 7, tier: 's' } }
  const START = messagesFrame('message_start', { message })
  const end = (stop_reason: string) =>
    messagesFrame('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } })

  test('has its blocks whole: thoughts with their signature, texts with their sources, what nobody knows as it is', () => {
    const body = folded('messages', [
      START,
      start(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Let me ' }),
      delta(0, { type: 'thinking_delta', thinking: 'see.' }),
      delta(0, { type: 'signature_delta', signature: 'sig==' }),
      messagesFrame('content_block_stop', { index: 0 }),
      start(1, { type: 'redacted_thinking', data: 'sealed' }),
      start(2, { type: 'text', text: '' }),
      messagesFrame('ping'),
      delta(2, { type: 'text_delta', text: 'Good ' }),
      delta(2, { type: 'citations_delta', citation: { cited: 'a' } }),
      delta(2, { type: 'citations_delta', citation: { cited: 'b' } }),
      delta(2, { type: 'text_delta', text: 'morning' }),
      end('end_turn'),
      messagesFrame('message_stop'),
    ])
    expect(body).toEqual({
      ...message,
      content: [
        { type: 'thinking', thinking: 'Let me see.', signature: 'sig==' },
        { type: 'redacted_thinking', data: 'sealed' },
        { type: 'text', text: 'Good morning', citations: [{ cited: 'a' }, { cited: 'b' }] },
      ],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 7, tier: 's', output_tokens: 5 },
    })
  })

  const call = (partial: readonly string[], stop: string) => {
    const fragments = partial.map(partial_json => delta(0, { type: 'input_json_delta', partial_json }))
    const block = start(0, { type: 'tool_use', id: 'toolu', name: 'write', input: {} })
    return folded('messages', [START, block, ...fragments, end(stop)]).content[0].input
  }

  test('has the input that its fragments make', () => {
    expect(call(['{"a":', '[1,2]}'], 'tool_use')).toEqual({ a: [1, 2] })
    expect(call([], 'tool_use')).toEqual({})
  })

  test('has as much of an input that was cut as is complete', () => {
    expect(call(['{"a":1,"b":"unfin'], 'max_tokens')).toEqual({ a: 1 })
  })
})
