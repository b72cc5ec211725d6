import { describe, test } from 'bun:test'
import type { ProtocolName } from '../../../src/core/ask.ts'
import { NO_USAGE } from '../../../src/core/usage.ts'
import { rawAt, root } from '../../../src/protocol/json.ts'
import { PROTOCOLS } from '../../../src/protocol/protocols.ts'
import { SseReader } from '../../../src/protocol/sse.ts'
import { faultsInChat, faultsInMessages } from '../../pairs/grammar.ts'
import type { JsonBody } from '../../support/duet.ts'
import { type Answer, someAnswer } from './answer.ts'
import { eachCase, type Random, same, TIME_MS_MAX } from './cases.ts'
import { chatFrames } from './chat-vendor.ts'
import { expectedOf, withKnownIds } from './expected.ts'
import { framesIn, hearChat, hearMessages } from './heard.ts'
import { messagesFrames } from './messages-vendor.ts'
import { COST, play, someView, stageOf } from './play.ts'
import { chunksOf, streamText, type VendorFrame } from './wire.ts'

interface Way {
  readonly client: ProtocolName
  readonly upstream: ProtocolName
}

const UNLIKE: readonly Way[] = [
  { client: 'messages', upstream: 'chat' },
  { client: 'chat', upstream: 'messages' },
]
const LIKE: readonly Way[] = [
  { client: 'chat', upstream: 'chat' },
  { client: 'messages', upstream: 'messages' },
]

const CASES = 500

const framesOf = (random: Random, answer: Answer, { client, upstream }: Way) =>
  (upstream === 'chat' ? chatFrames : messagesFrames)(random, answer, client === upstream ? 'like' : 'any')

function faultsIn(client: ProtocolName, output: string, usageAsked: boolean): readonly string[] {
  return client === 'chat' ? faultsInChat(output, { usageAsked }) : faultsInMessages(output)
}

describe('a stream of any vendor is in order, and nothing of it is lost or invented', () => {
  for (const way of [...UNLIKE, ...LIKE]) {
    test(`from ${way.upstream} to ${way.client}`, () => eachCase(CASES, random => checkWhole(random, way)), TIME_MS_MAX)
  }
})

function checkWhole(random: Random, way: Way): void {
  const { client, upstream } = way
  const { pair, names } = stageOf(way)
  const isLike = client === upstream
  const answer = someAnswer(random, {
    order: 'free',
    names: [...names.keys()],
    foreign: upstream === 'messages' && !isLike,
    oddIds: !isLike,
    isDishonest: !isLike,
    isCut: true,
  })
  const view = someView(random)
  const frames = framesOf(random, answer, way)
  const text = streamText(random, frames)
  const { output, failure } = play(pair.stream(view), chunksOf(random, text))
  const about = () => `${text}\n---\n${output}`
  same(failure?.failure, undefined, about)
  same(faultsIn(client, output, view.includeUsage), [], about)
  const expected = expectedOf(answer, { ...way, view, names: isLike ? new Map() : names, word: lastWord(frames) })
  same(withKnownIds(client === 'chat' ? hearChat(output) : hearMessages(output), expected), expected, about)
}

function lastWord(frames: readonly VendorFrame[]): string | undefined {
  const words = beforeEnd(frames).flatMap(data => {
    const { choices, delta } = JSON.parse(data)
    return choices?.[0]?.finish_reason || delta?.stop_reason || []
  })
  return words.at(-1)
}

test(
  'a messages vendor that does not keep to its own dialect is passed on with all it said, in its order',
  () => eachCase(CASES, checkPassedOn),
  TIME_MS_MAX,
)

function checkPassedOn(random: Random): void {
  const { pair, names } = stageOf({ client: 'messages', upstream: 'messages' })
  const answer = someAnswer(random, { order: 'free', names: [...names.keys()], foreign: true, oddIds: true })
  const frames = messagesFrames(random, answer, 'any')
  const text = streamText(random, frames)
  const view = { ...someView(random), showThinking: true }
  const { output, failure } = play(pair.stream(view), chunksOf(random, text))
  const about = () => `${text}\n---\n${output}`
  same(failure?.failure, undefined, about)
  // An answer of nothing gets a block of nothing.
  if (answer.blocks.length === 0) return
  same(saidIn(framesIn(output)), saidIn(withEmptyStarts(beforeEnd(frames))), about)
}

const beforeEnd = (frames: readonly VendorFrame[]): string[] => {
  const end = frames.findIndex(
    ({ event, data }) => data.trim() === '[DONE]' || `${event}${data}`.includes('message_stop'),
  )
  return frames.slice(0, end === -1 ? undefined : end).map(({ data }) => data)
}

/** What stands in the start of a block comes behind it: a text at once, an input where no fragment of it came. */
function withEmptyStarts(frames: readonly string[]): JsonBody[] {
  const inputs = new Map<number, string>()
  const events = frames.flatMap((data): JsonBody[] => {
    const event: JsonBody = JSON.parse(data)
    const { index, content_block: block, delta } = event
    if (delta) inputs.delete(index)
    if (block?.type === 'tool_use' && Object.keys(block.input ?? {}).length > 0) {
      inputs.set(index, rawAt(data, root(data), 'content_block', 'input') ?? '')
      return [{ ...event, content_block: { ...block, input: {} } }]
    }
    const said = block && ['text', 'thinking'].includes(block.type) ? block[block.type] : ''
    if (said) return [{ ...event, content_block: { ...block, [block.type]: '' } }, deltaOf(index, block.type, said)]
    const isStop = index !== undefined && !block && !delta
    return isStop ? [...takeInput(inputs, index), event] : [event]
  })
  return [...events, ...[...inputs.keys()].flatMap(index => takeInput(inputs, index))]
}

const deltaOf = (index: number, field: string, said: string): JsonBody => ({
  index,
  delta: { type: `${field}_delta`, [field]: said },
})

function takeInput(inputs: Map<number, string>, index: number): JsonBody[] {
  const input = inputs.get(index)
  inputs.delete(index)
  return input === undefined ? [] : [{ index, delta: { type: 'input_json_delta', partial_json: input } }]
}

/** Of all blocks, in the order it came; where the vendor forgot to end a block, that is made up for. */
function saidIn(events: readonly JsonBody[]): unknown {
  return events.flatMap(({ index, content_block, delta }) =>
    index === undefined || !(content_block || delta) ? [] : [{ index, content_block, delta }],
  )
}

describe('wherever a stream ends, what the caller has is in order', () => {
  for (const way of [...UNLIKE, ...LIKE]) {
    const name = `from ${way.upstream} to ${way.client}`
    test(`for want of money, ${name}`, () => eachCase(CASES / 2, random => checkShort(random, way)), TIME_MS_MAX)
    test(`because it broke, ${name}`, () => eachCase(CASES / 2, random => checkBroken(random, way)), TIME_MS_MAX)
  }
})

interface Begun {
  readonly output: string
  readonly rest: () => { readonly shortened: string; readonly broken: string }
  readonly isComplete: boolean
  readonly faults: (output: string) => readonly string[]
}

/** The first frames of some stream, and both ways in which it may end there. */
function begin(random: Random, way: Way): Begun {
  const { pair, names } = stageOf(way)
  const answer = someAnswer(random, { order: 'free', names: [...names.keys()], oddIds: way.client !== way.upstream })
  const view = someView(random)
  const reader = new SseReader()
  const frames = framesOf(random, answer, way)
  const all = [...reader.push(new TextEncoder().encode(streamText(random, frames))), ...reader.end()]
  const stream = pair.stream(view)
  let output = ''
  for (const frame of all.slice(0, random.between(0, all.length))) if (!stream.done) output += stream.push(frame)
  const failure = { kind: 'upstream-error', problem: 'The upstream stream ended before completion' } as const
  return {
    output,
    isComplete: stream.isComplete || stream.done,
    rest: () => ({
      shortened: stream.shorten() + stream.close({ usage: NO_USAGE, cost: COST }),
      broken: PROTOCOLS[way.client].errorFrames(failure, { requestId: 'req' }),
    }),
    faults: written => faultsIn(way.client, written, view.includeUsage),
  }
}

function checkShort(random: Random, way: Way): void {
  const { output, isComplete, rest, faults } = begin(random, way)
  // Before the first text there is nothing to be paid for, and after the reason of the end nothing more to pay.
  if (output === '' || isComplete) return
  const whole = output + rest().shortened
  same(faults(whole), [], () => whole)
  const heard = way.client === 'chat' ? hearChat(whole) : hearMessages(whole)
  same(heard.finish, way.client === 'chat' ? 'length' : 'max_tokens', () => whole)
}

function checkBroken(random: Random, way: Way): void {
  const { output, rest, faults } = begin(random, way)
  // Before the first text the failure has a status of its own.
  if (output === '') return
  const whole = output + rest().broken
  same(faults(whole), [], () => whole)
}
