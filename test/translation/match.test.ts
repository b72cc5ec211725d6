import { describe, expect, test } from 'bun:test'
import { chunkLines, eventLines, withMinted } from './frames.ts'
import { foundAt, mismatches } from './match.ts'
import { wholeBody } from './whole.ts'

const MATCHING: readonly [string, unknown, unknown][] = [
  ['members that are not listed', { a: 1 }, { a: 1, b: 2 }],
  ['a place that is kept in a list', [{}, { a: 1 }], ['anything', { a: 1 }]],
  ['an empty object', { input: {} }, { input: {} }],
  ['a text block for the string of a user', { role: 'user', content: 'q' }, user([text('q')])],
  ['a pattern over lines', { content_matches: '(?s)T.*body' }, { content: 'T\n\nbody' }],
  ['a pattern in a text', { text_matches: '42' }, { text: 'it is 42' }],
  ['a content that says something', { content_nonempty: true }, user([text('.')])],
  ['the type of a content', { content_type: 'string' }, { content: '' }],
  ['the type of an input', { input_type: 'object' }, { input: {} }],
]

const DIFFERING: readonly [string, unknown, unknown][] = [
  ['a member that is missing', { a: null }, {}],
  ['a member of another type', { a: 1 }, { a: '1' }],
  ['a longer list', [1], [1, 2]],
  ['a shorter list', [{}, {}], [1]],
  ['another order', [1, 2], [2, 1]],
  ['an object with members where none were listed', { input: {} }, { input: { a: 1 } }],
  ['a text block for the string of an assistant', { role: 'assistant', content: 'a' }, assistant([text('a')])],
  ['two text blocks for the string of a user', { role: 'user', content: 'q' }, user([text('q'), text('')])],
  ['text that a pattern does not find', { content_matches: '(?s)T.*body' }, { content: 'body T' }],
  ['a content without words', { content_nonempty: true }, user([text(' ')])],
  ['a content without blocks', { content_nonempty: true }, user([])],
  ['a list for a string', { content_type: 'string' }, { content: [] }],
  ['a string for an object', { input_type: 'object' }, { input: '{}' }],
  ['a list for an object', { input_type: 'object' }, { input: [] }],
]

describe('an expectation', () => {
  for (const [what, expected, actual] of MATCHING) {
    test(`is met by ${what}`, () => expect(mismatches(expected, actual)).toEqual([]))
  }
  for (const [what, expected, actual] of DIFFERING) {
    test(`is not met by ${what}`, () => expect(mismatches(expected, actual)).not.toEqual([]))
  }
})

test('a path finds what must be absent', () => {
  const value = { tools: [{ name: 'f' }, { name: 'g', description: '' }], messages: [user('q'), user([text('t')])] }
  expect(foundAt('tools[].description (when not given)', value)).toEqual([''])
  expect(foundAt('messages[?role=user]', value)).toHaveLength(2)
  expect(foundAt('messages[].content[?type=text]', value)).toEqual([text('t')])
  expect(foundAt('messages[1].content', value)).toHaveLength(1)
  expect(foundAt('tools[0].description', value)).toEqual([])
  expect(foundAt('thinking.budget_tokens', value)).toEqual([])
})

test('the notation shows what it has no words for', () => {
  const chunk = '{"choices":[{"index":0,"delta":{"content":"x","extra":1},"finish_reason":null}]}'
  expect(chunkLines(`data: ${chunk}\n\n`)).toEqual([chunk])
  expect(eventLines('event: news\ndata: {"type":"news"}\n\n')).toEqual(['{"type":"news"}'])
})

test('only an id that is legal passes for a minted one', () => {
  const line = (id: string) => `content_block_start #0 tool_use id=${id} name=f input={}`
  expect(withMinted([line('call_1')], [line('<minted>')])).toEqual([line('<minted>')])
  expect(withMinted([line('call.1')], [line('<minted>')])).toEqual([line('call.1')])
  expect(withMinted([line('call_1')], [line('call_1')])).toEqual([line('call_1')])
})

test('a stream that breaks off becomes a body that breaks off', () => {
  const chunk = (finish: string | null) =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: 'x' }, finish_reason: finish }] })}\n\n`
  expect(() => JSON.parse(wholeBody('chat', chunk(null)))).toThrow()
  expect(JSON.parse(wholeBody('chat', chunk(null) + chunk('stop'))).choices).toEqual([
    { index: 0, message: { role: 'assistant', content: 'xx' }, finish_reason: 'stop' },
  ])
})

function text(words: string): object {
  return { type: 'text', text: words }
}

function user(content: unknown): object {
  return { role: 'user', content }
}

function assistant(content: unknown): object {
  return { role: 'assistant', content }
}
