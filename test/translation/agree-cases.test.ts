import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { type Case, casesOf, pairOf } from './cases.ts'
import { finalCompletion, finalMessage } from './property/clients.ts'
import { bytesOf, heard, passedOn, retold, viewOf, type Way } from './ways.ts'

/** What passing on keeps, and the vocabulary cannot hold: there the two may differ. */
const KEPT: Readonly<Record<string, string>> = {
  'SO-34': 'calls of the form that came before `tools`',
  'SO-35': 'a refusal of its own',
  'SA-14': 'a reason that the vocabulary calls the limit',
  'SA-16': 'a reason that nobody knows',
}

/** An answer as an official client has it, without what only the vendor's own dialect can say. */
async function finalOf(way: Way, each: Case): Promise<unknown> {
  const text = heard(way, { ...viewOf(each), includeUsage: false }, [bytesOf(each)])
  try {
    return way.client.name === 'messages' ? saidIn(await finalMessage(text)) : toldIn(await finalCompletion(text))
  } catch (error) {
    return error instanceof Error ? 'an error' : error
  }
}

const saidIn = ({ content, stop_reason }: JsonBody) => ({
  stop_reason,
  thinking: joined(content, 'thinking'),
  text: joined(content, 'text'),
  calls: content
    .filter(({ type }: JsonBody) => type === 'tool_use')
    .map(({ id, name, input }: JsonBody) => ({ id, name, input })),
})

const joined = (content: readonly JsonBody[], type: 'text' | 'thinking'): string =>
  content.map(block => (block.type === type ? block[type] : '')).join('')

const toldIn = ({ choices: [{ message, finish_reason }] }: JsonBody) => ({
  finish_reason,
  text: (message.content ?? '').replaceAll('\n\n', ''),
  reasoning: message.reasoning_content ?? '',
  calls: (message.tool_calls ?? []).map(({ id, function: made }: JsonBody) => ({ id, ...made })),
})

describe('a stream that is passed on says what it says when it is told anew', () => {
  for (const each of casesOf('stream').filter(({ id }) => !(id in KEPT))) {
    test(`${each.id}: ${each.title}`, async () => {
      const { upstream } = pairOf(each)
      expect(await finalOf(passedOn(upstream), each)).toEqual(await finalOf(retold(upstream), each))
    })
  }
})
