import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { eventStream } from '../../support/upstream.ts'
import { messagesFrame as event, openingFrames } from '../../support/vendor.ts'
import { brokenEnd } from '../../support/wire.ts'
import { chunkLines } from '../frames.ts'
import { call, idOfKind, text, use, useKinds } from './stage.ts'

/** Section 3.4: a messages stream becomes a chat stream. */

const stage = useKinds({ messages: { protocol: 'messages' } })

const [START = ''] = openingFrames('messages')
const starts = (index: number, content_block: object) => event('content_block_start', { index, content_block })
const delta = (index: number, delta: object) => event('content_block_delta', { index, delta })
const stops = (index: number) => event('content_block_stop', { index })
const said = (index: number, value: string) => delta(index, { type: 'text_delta', text: value })
const made = (index: number, value: string) => delta(index, { type: 'input_json_delta', partial_json: value })
const thought = (index: number, value: string) => delta(index, { type: 'thinking_delta', thinking: value })
const texts = (index: number, ...values: readonly string[]) => [
  starts(index, text('')),
  ...values.map(value => said(index, value)),
  stops(index),
]
const END = (stop_reason = 'end_turn') => [
  event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } }),
  event('message_stop'),
]

const STREAM = { stream: true }
const play = (frames: readonly string[], fields: object = STREAM) =>
  stage.ask('chat', 'messages', fields, { answer: () => eventStream(frames) })
const lines = async (...frames: readonly string[]) => chunkLines((await play([START, ...frames])).text)
const message = async (...frames: readonly string[]): Promise<JsonBody> =>
  (await stage.official('chat', 'messages', STREAM, () => eventStream([START, ...frames]))).choices[0].message

const FIRST = 'role=assistant content=""'
const ends = (reason = 'stop') => [`finish_reason=${reason} delta={}`, '[DONE]']

test('every chunk has the same head, and one choice that is not finished before its end', async () => {
  const { frames } = await play([START, ...texts(0, 'a', 'b'), ...END()])
  const chunks = frames.slice(0, -1).map(({ json }) => json)
  const [{ id, created }] = chunks
  expect(id).toMatch(/^chatcmpl-[0-9a-f]+$/)
  for (const chunk of chunks)
    expect(chunk).toMatchObject({ id, created, object: 'chat.completion.chunk', model: idOfKind('messages') })
  expect(chunks.map(({ choices }) => choices[0].finish_reason)).toEqual([...chunks.slice(1).map(() => null), 'stop'])
  expect(chunks.filter(({ choices }) => 'role' in choices[0].delta)).toHaveLength(1)
  expect(frames.map(({ event }) => event)).toEqual(frames.map(() => undefined))
})

test('text is content', async () => {
  expect(await lines(...texts(0, 'a', 'b'), ...END())).toEqual([FIRST, 'content "a"', 'content "b"', ...ends()])
})

test('a second start is no harm', async () => {
  expect(await lines(START, ...texts(0, 'a'), ...END())).toEqual([FIRST, 'content "a"', ...ends()])
})

test('text in the start of a block is not lost', async () => {
  expect((await message(starts(0, text('a')), said(0, 'b'), stops(0), ...END())).content).toBe('ab')
})

test('texts that something stands between have a blank line between them, neighbours none', async () => {
  const server = [
    starts(2, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
    made(2, '{"query":"x"}'),
    stops(2),
  ]
  const result = [starts(3, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }), stops(3)]
  const { content, tool_calls } = await message(
    ...texts(0, 'a'),
    ...texts(1, 'b'),
    ...server,
    ...result,
    ...texts(4, 'c', 'd'),
    ...END(),
  )
  expect(content).toBe('ab\n\ncd')
  expect(tool_calls ?? []).toEqual([])
})

test('calls are numbered by themselves, whatever stands before them', async () => {
  const frames = [
    starts(0, { type: 'thinking', thinking: '', signature: '' }),
    thought(0, 'hm'),
    stops(0),
    ...texts(1, 'so'),
    starts(2, use('t1')),
    made(2, '{"a"'),
    made(2, ':1}'),
    stops(2),
    starts(3, use('t2', 'g')),
    made(3, '{}'),
    stops(3),
    ...END('tool_use'),
  ]
  expect(await lines(...frames)).toEqual([
    FIRST,
    'reasoning_content "hm"',
    'content "so"',
    'tool[0] start id=t1 name=f arguments=""',
    'tool[0] arguments "{\\"a\\""',
    'tool[0] arguments ":1}"',
    'tool[1] start id=t2 name=g arguments=""',
    'tool[1] arguments "{}"',
    ...ends('tool_calls'),
  ])
})

test('a delta of a call holds nothing but its fragment', async () => {
  const { frames } = await play([START, starts(0, use('t1')), made(0, '{"a":1}'), stops(0), ...END('tool_use')])
  const parts = frames.flatMap(({ json }) => json?.choices?.[0]?.delta?.tool_calls ?? [])
  expect(parts).toEqual([
    { index: 0, ...call('t1', 'f', '') },
    { index: 0, function: { arguments: '{"a":1}' } },
  ])
})

test('calls that interleave keep their numbers', async () => {
  const frames = [
    starts(0, use('t1')),
    starts(1, use('t2', 'g')),
    made(0, '{"a"'),
    made(1, '{"b"'),
    made(0, ':1}'),
    made(1, ':2}'),
    stops(0),
    stops(1),
    ...END('tool_use'),
  ]
  const { tool_calls } = await message(...frames)
  expect(tool_calls).toMatchObject([call('t1', 'f', '{"a":1}'), call('t2', 'g', '{"b":2}')])
})

describe('a call without fragments', () => {
  const rows = [
    ['nothing', [starts(0, use('t1')), stops(0)], '{}'],
    ['an empty fragment', [starts(0, use('t1')), made(0, ''), stops(0)], '{}'],
    ['its input in the start', [starts(0, use('t1', 'f', { a: 1 })), stops(0)], '{"a":1}'],
  ] as const
  for (const [what, frames, wanted] of rows) {
    test(`${what} has the arguments ${wanted}`, async () => {
      expect((await message(...frames, ...END('tool_use'))).tool_calls).toMatchObject([call('t1', 'f', wanted)])
    })
  }
})

test('thoughts are reasoning, and their signatures are nothing', async () => {
  const frames = [
    starts(0, { type: 'thinking', thinking: '', signature: '' }),
    thought(0, 'h'),
    thought(0, 'm'),
    delta(0, { type: 'signature_delta', signature: 'c2ln' }),
    stops(0),
    starts(1, { type: 'redacted_thinking', data: 'x' }),
    stops(1),
    ...texts(2, 'a'),
  ]
  expect(await lines(...frames, ...END())).toEqual([
    FIRST,
    'reasoning_content "h"',
    'reasoning_content "m"',
    'content "a"',
    ...ends(),
  ])
})

test('what nobody knows is nothing', async () => {
  const odd = [
    event('novelty', { a: 1 }),
    delta(0, { type: 'citations_delta', citation: {} }),
    delta(0, { type: 'novel_delta', x: 1 }),
    'data: [DONE]\n\n',
    starts(7, { type: 'novel_block' }),
    stops(7),
  ]
  expect(await lines(starts(0, text('')), said(0, 'a'), ...odd, said(0, 'b'), stops(0), ...END())).toEqual([
    FIRST,
    'content "a"',
    'content "b"',
    ...ends(),
  ])
})

test('frames without names go by what is in them', async () => {
  const bare = [START, ...texts(0, 'a'), ...END()].map(frame => frame.replace(/^event: .*\n/, ''))
  const { text } = await play(bare)
  expect(chunkLines(text)).toEqual([FIRST, 'content "a"', ...ends()])
})

test('a ping is at most a comment', async () => {
  const { text, frames } = await play([START, event('ping'), ...texts(0, 'a'), event('ping'), ...END()])
  expect(frames.every(({ data }) => !data.includes('ping'))).toBe(true)
  expect(text).not.toMatch(/^event:/m)
})

describe('usage', () => {
  test('is a frame of its own for those who ask, and null before it', async () => {
    const { frames } = await play([START, ...texts(0, 'a'), ...END()], {
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks = frames.slice(0, -1).map(({ json }) => json)
    const last = chunks.at(-1)
    expect([last.choices, last.usage.prompt_tokens, last.usage.completion_tokens, last.usage.total_tokens]).toEqual([
      [],
      7,
      5,
      12,
    ])
    for (const chunk of chunks.slice(0, -1)) expect(chunk.usage).toBeNull()
  })

  test('is nowhere for those who do not', async () => {
    expect((await play([START, ...texts(0, 'a'), ...END()])).text).not.toContain('"usage"')
  })
})

describe('the end', () => {
  test('of an empty message is a role and a reason', async () => {
    expect(await lines(...END())).toEqual([FIRST, ...ends()])
  })

  test('may lack its last event once the reason is known', async () => {
    expect(await lines(...texts(0, 'a'), ...END('max_tokens').slice(0, 1))).toEqual([
      FIRST,
      'content "a"',
      ...ends('length'),
    ])
  })

  test('without a reason is an error', async () => {
    expect(brokenEnd('chat', (await play([START, ...texts(0, 'a')])).text)).toBeObject()
  })

  test('may be an error, after which nothing comes but [DONE]', async () => {
    const error = event('error', { error: { type: 'overloaded_error', message: 'busy' } })
    const { text, frames } = await play([
      START,
      starts(0, { type: 'text', text: '' }),
      said(0, 'a'),
      error,
      said(0, 'MORE'),
      ...END(),
    ])
    expect(brokenEnd('chat', text)).toMatchObject({
      message: expect.any(String),
      type: expect.any(String),
      code: expect.any(String),
    })
    expect(text).not.toContain('MORE')
    expect(frames.at(-1)?.data).toBe('[DONE]')
  })
})
