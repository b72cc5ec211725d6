import { describe, test } from 'bun:test'
import type { ProtocolName } from '../../../src/core/ask.ts'
import { NO_USAGE } from '../../../src/core/usage.ts'
import type { Pair } from '../../../src/gateway/pair.ts'
import { translate } from '../../../src/gateway/translate.ts'
import type { View } from '../../../src/protocol/protocol.ts'
import { PROTOCOLS } from '../../../src/protocol/protocols.ts'
import type { JsonBody } from '../../support/duet.ts'
import { type Answer, callsIn, someAnswer } from './answer.ts'
import { eachCase, Random, same, TIME_MS_MAX } from './cases.ts'
import { chatBody, chatFrames } from './chat-vendor.ts'
import { finalCompletion, finalMessage } from './clients.ts'
import { type Heard, hearBody, hearChat, hearMessages } from './heard.ts'
import { messagesBody, messagesFrames } from './messages-vendor.ts'
import { askOf, COST, play, someView, stageOf } from './play.ts'
import { chunksOf, streamText } from './wire.ts'

interface Way {
  readonly client: ProtocolName
  readonly upstream: ProtocolName
}

const WAYS: readonly Way[] = [
  { client: 'messages', upstream: 'chat' },
  { client: 'chat', upstream: 'messages' },
  { client: 'chat', upstream: 'chat' },
  { client: 'messages', upstream: 'messages' },
]

const CASES = 250
const CASES_WITH_CLIENTS = 80

/** A whole answer of messages can hold neither half an input nor one that is no object. */
function answerOf(random: Random, { upstream }: Way, names: readonly string[]): Answer {
  const isChat = upstream === 'chat'
  return someAnswer(random, { order: isChat ? 'chat' : 'free', names, isCut: isChat, oddArguments: isChat })
}

function streamed(random: Random, answer: Answer, { upstream, pair, view }: Way & Played): string {
  const frames = (upstream === 'chat' ? chatFrames : messagesFrames)(random, answer, 'plain')
  const { output, failure } = play(pair.stream(view), chunksOf(random, streamText(random, frames)))
  if (failure) throw failure
  return output
}

interface Played {
  readonly pair: Pair
  readonly view: View
}

const bodyOf = (upstream: ProtocolName, answer: Answer) => (upstream === 'chat' ? chatBody : messagesBody)(answer)

function whole(answer: Answer, { upstream, pair, view }: Way & Played): string {
  const { seen, render } = pair.body(bodyOf(upstream, answer), view)
  return render({ usage: seen.usage ?? NO_USAGE, cost: COST })
}

const hear = (client: ProtocolName, stream: string): Heard => (client === 'chat' ? hearChat : hearMessages)(stream)

const inputsOf = (answer: Answer): string[] => callsIn(answer).map(call => call.arguments || '{}')

/** A body always has the usage, and parts of an input that a limit has cut are for the clients below to compare. */
function comparable(heard: Heard, { reason }: Answer): unknown {
  const isCut = reason === 'length'
  return { ...heard, calls: heard.calls.map(call => (isCut ? { ...call, arguments: undefined } : call)) }
}

describe('a streamed answer says what the whole answer says', () => {
  for (const way of WAYS) {
    test(
      `from ${way.upstream} to ${way.client}`,
      () =>
        eachCase(CASES, random => {
          const { pair, names } = stageOf(way)
          const answer = answerOf(random, way, [...names.keys()])
          const played = { ...way, pair, view: { ...someView(random), includeUsage: true } }
          const stream = streamed(random, answer, played)
          const body = whole(answer, played)
          const [asStream, asBody] = [hear(way.client, stream), hearBody(body, inputsOf(answer))]
          same(comparable(asBody, answer), comparable(asStream, answer), () => `${stream}\n---\n${body}`)
        }),
      TIME_MS_MAX,
    )

    test(
      `from ${way.upstream} to ${way.client}, as the official client hears it`,
      () =>
        eachCase(CASES_WITH_CLIENTS, async random => {
          const { pair, names } = stageOf(way)
          const answer = answerOf(random, way, [...names.keys()])
          const played = { ...way, pair, view: { ...someView(random), includeUsage: true } }
          const stream = streamed(random, answer, played)
          const body = whole(answer, played)
          const essence = way.client === 'chat' ? completionEssence : messageEssence
          const final = await (way.client === 'chat' ? finalCompletion : finalMessage)(stream)
          same(essence(JSON.parse(body)), essence(final), () => `${stream}\n---\n${body}`)
        }),
      TIME_MS_MAX,
    )
  }
})

/** The client keeps the last piece of the reasoning only; texts and calls it puts together. */
function completionEssence({ id, model, choices: [choice], usage }: JsonBody): JsonBody {
  const { content, tool_calls } = choice.message
  const calls = (tool_calls ?? []).map(({ id: call, type, function: made }: JsonBody) => ({
    ...{ call, type, name: made.name, arguments: made.arguments },
  }))
  return { id, model, content: content || null, calls, finish: choice.finish_reason, usage }
}

/** Whole blocks; counters that the client does not know are not taken over by it. */
function messageEssence({ id, model, role, content, stop_reason, stop_sequence, usage }: JsonBody): JsonBody {
  const { cost, ...counted } = usage
  return { id, model, role, content, stop_reason, stop_sequence, counted }
}

describe('an answer of a like upstream is the same, passed on or read and written again', () => {
  for (const protocol of ['chat', 'messages'] as const) {
    test(protocol, () => eachCase(CASES, random => checkWrittenAgain(random, protocol)), TIME_MS_MAX)
  }
})

function checkWrittenAgain(random: Random, protocol: ProtocolName): void {
  const way = { client: protocol, upstream: protocol }
  const { pair: passing, names } = stageOf(way)
  const hello = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] }
  const writing = translate(askOf(protocol, hello), PROTOCOLS[protocol], PROTOCOLS[protocol])
  // The vendor's words for the reason stay its own only where they are passed on.
  const answer = { ...answerOf(random, way, [...names.keys()]), word: 0 }
  const view = { ...someView(random), includeUsage: true }
  const seed = random.between(0, 2 ** 31)
  const heard = [passing, writing].map(pair => {
    const played = { ...way, pair, view }
    const stream = hear(protocol, streamed(new Random(seed), answer, played))
    const body = hearBody(whole(answer, played), inputsOf(answer))
    return { stream: comparable(stream, answer), body: comparable(body, answer) }
  })
  same(heard[1], heard[0], () => bodyOf(protocol, answer))
}
