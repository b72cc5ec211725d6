import { describe, test } from 'bun:test'
import { bodyOf, chatFrame, messagesFrame } from '../pairs/wire.ts'
import type { JsonBody } from '../support/duet.ts'
import { eventStream } from '../support/upstream.ts'
import type { ProtocolName } from '../support/wire.ts'
import type { Bill } from './bills.ts'
import { expectOneRecordEach, play, type Scene } from './play.ts'
import { PROMPT, REPORTED, TEXT, USAGE } from './said.ts'
import { nameOf, promptTokensIn, STREAMED, tokensIn, useStage, type Way, WHOLE } from './support.ts'

/** What is charged: the upstream's own numbers wherever and however often it gives them, else what was relayed. */

const stage = useStage()

/** `TEXT` in three deltas. */
const PIECES = [TEXT.slice(0, 20), TEXT.slice(20, 40), TEXT.slice(40)] as const

// ── two kinds of streams, with room for usage in every frame ────────────────────────────────────────────────────────

interface UsageInFrames {
  /** With the first frame, before any text. */
  readonly first?: JsonBody
  /** With each delta (chat), or after each of them (messages). */
  readonly deltas?: readonly JsonBody[]
  /** With the reason why the answer ended. */
  readonly reason?: JsonBody
  /** After that. */
  readonly last?: JsonBody
}

const withUsage = (usage: JsonBody): object => (usage === undefined ? {} : { usage })

function chatStream({ first, deltas = [], reason, last }: UsageInFrames): string[] {
  const chunk = (delta: object, finish_reason: string | null, usage: JsonBody) =>
    chatFrame({ choices: [{ index: 0, delta, finish_reason }], ...withUsage(usage) })
  return [
    chunk({ role: 'assistant', content: '' }, null, first),
    ...PIECES.map((content, place) => chunk({ content }, null, deltas[place])),
    chunk({}, 'stop', reason),
    ...(last === undefined ? [] : [chatFrame({ choices: [], usage: last })]),
    'data: [DONE]\n\n',
  ]
}

function messagesStream({ first, deltas = [], reason, last }: UsageInFrames): string[] {
  const message = { id: 'msg_vendor', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null }
  const ending = (usage: JsonBody) =>
    messagesFrame('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, ...withUsage(usage) })
  return [
    messagesFrame('message_start', { message: { ...message, ...withUsage(first) } }),
    messagesFrame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...PIECES.flatMap((text, place) => [
      messagesFrame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      ...(deltas[place] ? [messagesFrame('message_delta', { delta: {}, usage: deltas[place] })] : []),
    ]),
    messagesFrame('content_block_stop', { index: 0 }),
    ending(reason),
    ...(last === undefined ? [] : [ending(last)]),
    messagesFrame('message_stop', {}),
  ]
}

const STREAMS: Record<ProtocolName, (usage: UsageInFrames) => string[]> = { chat: chatStream, messages: messagesStream }

/** What the upstream has counted when it has written so much. */
const soFar = (protocol: ProtocolName, output: number): JsonBody =>
  protocol === 'chat'
    ? { ...USAGE.chat, completion_tokens: output, total_tokens: 1000 + output }
    : { ...USAGE.messages, output_tokens: output }

const GROWING = [3, 6, 9] as const

// ── whole streams ───────────────────────────────────────────────────────────────────────────────────────────────────

const reported = (): Bill => ({ status: 'ok', ending: 'stop', source: 'upstream', tokens: REPORTED })

const counted = (_: Way, request: JsonBody): Bill => ({
  ...{ status: 'ok', ending: 'stop', source: 'counted' },
  tokens: { input: promptTokensIn(request), output: tokensIn(TEXT) },
})

const promptReported = (): Bill => ({
  ...{ status: 'ok', ending: 'stop', source: 'counted', tokens: { ...PROMPT, output: tokensIn(TEXT) } },
})

interface StreamCase {
  readonly name: string
  readonly usage: (protocol: ProtocolName) => UsageInFrames
  readonly bill: (way: Way, request: JsonBody) => Bill
  readonly upstreams?: readonly ProtocolName[]
}

const STREAM_CASES: readonly StreamCase[] = [
  {
    name: 'usage that grows with every frame is overwritten, not added up',
    usage: protocol => ({
      first: soFar(protocol, 0),
      deltas: GROWING.map(output => soFar(protocol, output)),
      reason: soFar(protocol, 9),
      last: soFar(protocol, 9),
    }),
    bill: reported,
  },
  {
    name: 'usage that comes with the reason only is charged',
    usage: protocol => ({ reason: soFar(protocol, 9) }),
    bill: reported,
  },
  {
    name: 'usage that comes after the reason only is charged',
    usage: protocol => ({ last: soFar(protocol, 9) }),
    bill: reported,
  },
  {
    name: 'usage that comes twice is charged once',
    usage: protocol => ({ reason: soFar(protocol, 9), last: soFar(protocol, 9) }),
    bill: reported,
  },
  {
    name: 'usage that is corrected at the very end is charged as corrected',
    usage: protocol => ({ reason: soFar(protocol, 4), last: soFar(protocol, 9) }),
    bill: reported,
  },
  {
    name: 'without any usage, what was relayed is counted',
    usage: () => ({}),
    bill: counted,
  },
  {
    name: 'usage of zero for something that was there is no usage',
    usage: protocol => ({
      last: protocol === 'chat' ? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } : ZERO_USAGE,
    }),
    bill: counted,
  },
  {
    name: 'usage that comes with the first frame only says what the prompt was, and the rest is counted',
    usage: protocol => ({ first: soFar(protocol, 1) }),
    bill: promptReported,
    upstreams: ['messages'],
  },
]

const ZERO_USAGE = { input_tokens: 0, output_tokens: 0 }

for (const { name, usage, bill, upstreams = ['chat', 'messages'] } of STREAM_CASES) {
  describe(`streams: ${name}`, () => {
    for (const way of STREAMED.filter(({ upstream }) => upstreams.includes(upstream))) {
      const answer = ({ protocol }: Scene) => eventStream(STREAMS[protocol](usage(protocol)))
      test(nameOf(way), () => play(stage, way, { answer, bill }))
    }
  })
}

// ── streams that are cut ────────────────────────────────────────────────────────────────────────────────────────────

/** Up to the last text, and what goes with it. */
const cutStream = (protocol: ProtocolName, usage: UsageInFrames): string[] =>
  STREAMS[protocol](usage).slice(0, protocol === 'chat' ? 4 : -3)

const LAGGING: Readonly<Record<string, (protocol: ProtocolName) => UsageInFrames>> = {
  'with the first frame': protocol => ({ first: soFar(protocol, 1) }),
  'with the first delta': protocol => ({ first: soFar(protocol, 0), deltas: [soFar(protocol, 1)] }),
}

for (const [place, usage] of Object.entries(LAGGING)) {
  describe(`streams that a client leaves: usage that came last ${place} is not taken for all that was relayed`, () => {
    const answer = ({ protocol }: Scene) => eventStream(cutStream(protocol, usage(protocol)), 'silence')
    const bill = (): Bill => ({ ...promptReported(), status: 'client_gone', ending: null })
    for (const way of STREAMED) {
      test(nameOf(way), () => play(stage, way, { answer, bill, leaves: 'after the text', isLeftOpen: true }))
    }
  })
}

// ── whole answers ───────────────────────────────────────────────────────────────────────────────────────────────────

describe('whole answers: usage is charged as it was given', () => {
  const answer = ({ protocol }: Scene) => new Response(bodyOf(protocol, { text: TEXT, finish: 'stop', usage: USAGE }))
  for (const way of WHOLE) test(nameOf(way), () => play(stage, way, { answer, bill: reported }))
})

describe('whole answers: without any usage, the text is counted', () => {
  const answer = ({ protocol }: Scene) => new Response(bodyOf(protocol, { text: TEXT, finish: 'stop' }))
  for (const way of WHOLE) test(nameOf(way), () => play(stage, way, { answer, bill: counted }))
})

test('after all of these there is one record of each request, and the books add up', () => expectOneRecordEach(stage))
