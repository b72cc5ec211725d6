import { expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { mismatches } from './match.ts'

/** Checks what the official messages client made of a stream. The content is compared member by member. */
export function expectFinalMessage(actual: JsonBody, { content, usage, ...ending }: JsonBody): void {
  expect(actual.content).toEqual(content.map((block: JsonBody, place: number) => minted(block, actual.content[place])))
  expect(mismatches(ending, actual)).toEqual([])
  expect(actual.id).toMatch(/^[0-9a-f]+$/)
  expectUsage(actual.usage, usage)
}

/** The fixture gives the pattern of an id that the gateway had to make up. */
function minted(block: JsonBody, actual: JsonBody): JsonBody {
  const [, pattern] = /^<gateway-minted, (.*)>$/.exec(block.id) ?? []
  if (pattern === undefined) return block
  return new RegExp(pattern).test(actual?.id) ? { ...block, id: actual.id } : block
}

/** A sentence in place of numbers: the upstream sent none, so all there is to know is that they are counts. */
function expectUsage(actual: JsonBody, expected: JsonBody): void {
  if (typeof expected !== 'string') {
    expect(mismatches(expected, actual)).toEqual([])
    return
  }
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = actual
  for (const count of [input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens]) {
    expect({ count, isCount: Number.isInteger(count) && count >= 0 }).toEqual({ count, isCount: true })
  }
}

/** Checks what the official chat client made of a stream. */
export function expectFinalCompletion(actual: JsonBody, expected: JsonBody): void {
  expect(actual.choices).toHaveLength(1)
  const [{ message, finish_reason }] = actual.choices
  const { content, tool_calls, reasoning_content } = message
  expect({ content, tool_calls, reasoning_content }).toEqual(expected.message)
  expect(finish_reason).toBe(expected.finish_reason)
  if (expected.usage) expect(mismatches(expected.usage, actual.usage)).toEqual([])
  else expect(actual.usage).toBeUndefined()
}
