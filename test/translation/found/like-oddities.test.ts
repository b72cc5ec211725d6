import { expect, test } from 'bun:test'
import { PROTOCOLS } from '../../../src/protocol/protocols.ts'
import type { JsonBody } from '../../support/duet.ts'
import { caseOf, pairOf } from '../cases.ts'
import { bytesOf, heard, passedOn, viewOf } from '../ways.ts'

/** Oddities of vendors that broke some client when they were passed on as they came. */

/** What a client of the vendor's own kind gets of a recorded stream. */
function passed(id: string): JsonBody[] {
  const each = caseOf(id)
  const text = heard(passedOn(pairOf(each).upstream), viewOf(each), [bytesOf(each)])
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))
}

const deltas = (id: string): JsonBody[] =>
  passed(id).flatMap(({ choices }) => choices.map(({ delta }: JsonBody) => delta))

test('content in parts becomes a text, and the thoughts among them reasoning', () => {
  expect(deltas('SO-33')[0]).toEqual({ role: 'assistant', content: 'ok', reasoning_content: 'hmm' })
})

test('a character that was cut in two is written whole', () => {
  const contents = deltas('SO-53').flatMap(({ content }) => (content ? [content] : []))
  expect(contents.every(content => content.isWellFormed())).toBe(true)
  expect(contents.join('')).toBe('a\u{1f600}b')
})

test('an answer that nobody asked for is left out, streamed and whole', () => {
  expect(passed('SO-60').flatMap(({ choices }) => choices.map(({ index }: JsonBody) => index))).not.toContain(1)
  const choice = (index: number, content: string) => ({
    index,
    message: { role: 'assistant', content },
    finish_reason: 'stop',
  })
  const body = JSON.stringify({ choices: [choice(1, 'NO'), choice(0, 'YES')] })
  const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 }
  const answer: JsonBody = JSON.parse(
    PROTOCOLS.chat.editBody(body, viewOf(caseOf('SO-60'))).render({ usage, cost: '0' }),
  )
  expect(answer.choices.map(({ message }: JsonBody) => message.content)).toEqual(['YES'])
})

test('a call begins with its name', () => {
  const fragments = deltas('SO-12').flatMap(({ tool_calls }) => tool_calls ?? [])
  expect(fragments).toEqual([
    { index: 0, function: { name: 'grep', arguments: '' }, id: 'call_z', type: 'function' },
    { index: 0, function: { arguments: '{"q":"x"}' } },
  ])
})

test('what stands in the start of a block comes behind it', () => {
  const text = passed('SA-29').filter(({ index }) => index === 0)
  expect(text.map(({ content_block, delta }) => content_block?.text ?? delta?.text)).toEqual([
    '',
    'Hey',
    ' you',
    undefined,
  ])
  const input = passed('SA-07').filter(
    ({ content_block, delta }) => content_block?.type === 'tool_use' || delta?.partial_json,
  )
  expect(input.map(({ content_block, delta }) => content_block?.input ?? delta?.partial_json)).toEqual([{}, '{"a":1}'])
})

test('an ending in calls without a call is a plain one', () => {
  const reasons = passed('SO-25').flatMap(({ choices }) => choices.map(({ finish_reason }: JsonBody) => finish_reason))
  expect(reasons.at(-1)).toBe('stop')
})

test('reasoning under another name is found under ours too', () => {
  expect(deltas('SO-29')[0]).toMatchObject({ reasoning: 'Why', reasoning_content: 'Why' })
})
