import { describe, expect, test } from 'bun:test'
import { bodyOf } from '../pairs/wire.ts'
import type { JsonBody } from '../support/duet.ts'
import { eventStream } from '../support/upstream.ts'
import { vendorError } from '../support/vendor.ts'
import type { Bill } from './bills.ts'
import { type Ending, expectOneRecordEach, play, type Scene } from './play.ts'
import {
  ANSWER,
  errorFrame,
  frames,
  framesWith,
  halfBody,
  openingFrames,
  REPORTED,
  relayed,
  says,
  TEXT,
  together,
  USAGE,
  withoutEndMark,
} from './said.ts'
import {
  affordableTokens,
  costOf,
  dollarsOf,
  nameOf,
  promptTokensIn,
  STREAMED,
  type Tokens,
  tokensIn,
  useStage,
  WAYS,
  type Way,
  WHOLE,
} from './support.ts'

/** Every way in which a request can end, over every pair of protocols: one record, one bill or none, nothing held. */

const stage = useStage()

interface EndingCase extends Ending {
  readonly name: string
  readonly ways: readonly Way[]
}

const ok = (ending: string, tokens: Partial<Tokens> = REPORTED): Bill => ({
  ...{ status: 'ok', ending, source: 'upstream', tokens },
})

const nothing = (status: string): Bill => ({ status, ending: null, source: 'estimated', tokens: {} })

/** Nothing is known but that the upstream was asked. */
const prompt = (status: string, request: JsonBody): Bill => ({
  ...{ status, ending: null, source: 'estimated', tokens: { input: promptTokensIn(request) } },
})

// ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const CALL = { id: 'call_1', name: 'look_up', arguments: '{"city":"Rome"}' }
const TOOLS = {
  chat: [{ type: 'function', function: { name: CALL.name, parameters: { type: 'object' } } }],
  messages: [{ name: CALL.name, input_schema: { type: 'object' } }],
}

const ANSWERS: readonly EndingCase[] = [
  { name: 'an answer', ways: WAYS, answer: says(ANSWER), bill: () => ok('stop') },
  {
    name: 'an answer cut at its limit',
    ways: WAYS,
    answer: says({ ...ANSWER, finish: 'length' }),
    bill: () => ok('length'),
  },
  {
    name: 'a tool call',
    ways: WAYS,
    answer: says({ calls: [CALL], finish: 'tool_calls', usage: USAGE }),
    bill: () => ok('tool-calls'),
    more: ({ client }) => ({ tools: TOOLS[client] }),
  },
  {
    name: 'a refusal',
    ways: WAYS,
    answer: says({ ...ANSWER, finish: 'content_filter' }),
    bill: () => ok('refusal'),
  },
  {
    name: 'a whole body in answer to a stream',
    ways: STREAMED,
    answer: ({ protocol }) => new Response(bodyOf(protocol, ANSWER)),
    bill: () => ok('stop'),
  },
]

// ── answers that the money ends ─────────────────────────────────────────────────────────────────────────────────────

/** More than makes a call worth starting, and less than is asked for. */
const LITTLE = costOf({ output: 1500 })
/** More than a stream holds at first, and less than it comes to. */
const SOME = costOf({ output: 5000 })

/** All that so much money pays for. */
const usedUp = (money: bigint, request: JsonBody): Tokens => {
  const input = promptTokensIn(request)
  return { input, cache_read: 0, cache_write: 0, output: affordableTokens(money - costOf({ input })) }
}

const OUT_OF_MONEY: readonly EndingCase[] = [
  {
    name: 'an answer at the lower limit that the money allows',
    ways: WAYS,
    caller: { balance: dollarsOf(LITTLE) },
    more: () => ({ max_tokens: 4000 }),
    answer: scene => {
      const { input, output } = usedUp(LITTLE, scene.request)
      expect(scene.body.max_tokens ?? scene.body.max_completion_tokens).toBe(output)
      const chat = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
      const messages = { input_tokens: input, output_tokens: output }
      return says({ text: TEXT, finish: 'length', usage: { chat, messages } })(scene)
    },
    bill: (_, request) => ok('funds', usedUp(LITTLE, request)),
  },
  {
    name: 'an answer that would go on when the money is used up',
    ways: STREAMED,
    caller: { balance: dollarsOf(SOME) },
    more: () => ({ max_tokens: 8000 }),
    answer: ({ protocol }) =>
      eventStream(framesWith(protocol, new Array(60).fill('More than it buys. '.repeat(20))), 'silence'),
    bill: (_, request) => ({ status: 'ok', ending: 'funds', source: 'counted', tokens: usedUp(SOME, request) }),
    isLeftOpen: true,
  },
]

// ── failures of the upstream ────────────────────────────────────────────────────────────────────────────────────────

const REFUSALS: readonly EndingCase[] = [
  { status: 500, code: 'upstream_error' },
  { status: 429, code: 'upstream_rate_limited' },
  { status: 401, code: 'upstream_auth_failed' },
  { status: 400, code: 'upstream_invalid_request' },
].map(({ status, code }) => ({
  name: `an upstream that answers ${status}`,
  ways: WAYS,
  answer: ({ protocol }: Scene) => Response.json(vendorError(protocol, 'no'), { status }),
  bill: () => nothing(code),
}))

const FAILURES: readonly EndingCase[] = [
  ...REFUSALS,
  {
    name: 'an upstream error in place of the answer',
    ways: WHOLE,
    answer: ({ protocol }) => Response.json(vendorError(protocol, 'overloaded')),
    bill: () => nothing('upstream_error'),
  },
  {
    name: 'an upstream error in place of the first frame',
    ways: STREAMED,
    answer: ({ protocol }) => eventStream([errorFrame(protocol)], 'silence'),
    bill: () => nothing('upstream_error'),
    isLeftOpen: true,
  },
  {
    name: 'an upstream that is reset in the middle of the body',
    ways: WHOLE,
    answer: ({ protocol }) => eventStream([halfBody(protocol)], 'reset'),
    bill: () => nothing('upstream_error'),
  },
  {
    name: 'an upstream error after some text',
    ways: STREAMED,
    answer: ({ protocol }) => eventStream([...openingFrames(protocol), errorFrame(protocol)], 'silence'),
    bill: (way, request) => relayed('upstream_error', way, request),
    isLeftOpen: true,
  },
  {
    name: 'a broken frame after some text',
    ways: STREAMED,
    answer: ({ protocol }) => eventStream([...openingFrames(protocol), 'data: {"cho\n\n'], 'silence'),
    bill: (way, request) => relayed('upstream_error', way, request),
    isLeftOpen: true,
  },
  {
    name: 'an upstream that is reset after some text',
    ways: STREAMED,
    // A reset overtakes what is on its way, so it waits until all has arrived.
    answer: ({ protocol, textRead }) => eventStream([...openingFrames(protocol), textRead], 'reset'),
    bill: (way, request) => relayed('upstream_error', way, request),
  },
  {
    name: 'an upstream that closes before the end',
    ways: STREAMED,
    answer: ({ protocol }) => eventStream(openingFrames(protocol)),
    bill: (way, request) => relayed('upstream_error', way, request),
  },
]

// ── clients that leave ──────────────────────────────────────────────────────────────────────────────────────────────

const DEPARTURES: readonly EndingCase[] = [
  {
    name: 'a client that leaves before the upstream has answered at all',
    ways: WAYS,
    answer: () => new Promise(() => {}),
    bill: (_, request) => prompt('client_gone', request),
    leaves: 'before the first byte',
    isLeftOpen: true,
  },
  {
    name: 'a client that leaves when the upstream has sent no more than its status',
    ways: STREAMED,
    answer: () => eventStream([': a comment\n\n'], 'silence'),
    bill: (_, request) => prompt('client_gone', request),
    leaves: 'before the first byte',
    isLeftOpen: true,
  },
  {
    name: "a client that leaves in the middle of the upstream's whole body",
    ways: WHOLE,
    answer: ({ protocol }) => eventStream([halfBody(protocol)], 'silence'),
    bill: (_, request) => prompt('client_gone', request),
    leaves: 'before the first byte',
    isLeftOpen: true,
  },
  {
    name: 'a client that leaves during the stream',
    ways: STREAMED,
    answer: ({ protocol }) => eventStream(openingFrames(protocol), 'silence'),
    bill: (way, request) => relayed('client_gone', way, request),
    leaves: 'after the text',
    isLeftOpen: true,
  },
  {
    name: 'a client that leaves after the last token and the usage, before the end mark',
    ways: STREAMED,
    answer: ({ protocol }) => eventStream(together(withoutEndMark(frames(protocol))), 'silence'),
    bill: () => ({ status: 'client_gone', ending: null, source: 'upstream', tokens: REPORTED }),
    leaves: 'after the text',
    isLeftOpen: true,
  },
  {
    name: 'a client that leaves after the last token and its reason, before any usage',
    ways: STREAMED,
    answer: ({ protocol }) =>
      eventStream(together(withoutEndMark(frames(protocol, { text: TEXT, finish: 'stop' }))), 'silence'),
    bill: (_, request) => ({
      ...{ status: 'client_gone', ending: null, source: 'counted' },
      tokens: { input: promptTokensIn(request), output: tokensIn(TEXT) },
    }),
    leaves: 'after the text',
    isLeftOpen: true,
  },
]

for (const ending of [...ANSWERS, ...OUT_OF_MONEY, ...FAILURES, ...DEPARTURES]) {
  describe(`settled once: ${ending.name}`, () => {
    for (const way of ending.ways) test(nameOf(way), () => play(stage, way, ending))
  })
}

// ── answers that linger ─────────────────────────────────────────────────────────────────────────────────────────────

const LINGERING: readonly EndingCase[] = [
  {
    name: 'an answer after which the upstream keeps the line open',
    ways: STREAMED,
    answer: ({ protocol }) => eventStream(frames(protocol), 'silence'),
    bill: () => ok('stop'),
    isLeftOpen: true,
  },
  {
    name: 'an answer that never gets its end mark',
    ways: STREAMED,
    answer: ({ protocol }) => eventStream(withoutEndMark(frames(protocol)), 'silence'),
    bill: () => ok('stop'),
    isLeftOpen: true,
  },
]

for (const ending of LINGERING) {
  describe(`settled once: ${ending.name}`, () => {
    // A second or two of silence stand for the end, so these are played at the same time.
    for (const way of ending.ways) test.concurrent(nameOf(way), () => play(stage, way, ending))
  })
}

describe('a stream that comes all at once has a first byte, and a time of it', () => {
  const answer = ({ protocol }: Scene) => eventStream(together(frames(protocol)))
  for (const way of STREAMED) {
    test(nameOf(way), async () => {
      const { first_byte_ms, duration_ms } = await play(stage, way, { answer, bill: () => ok('stop') })
      expect(first_byte_ms).toBeNumber()
      expect(first_byte_ms).toBeLessThanOrEqual(duration_ms)
    })
  }
})

test('after all of these there is one record of each request, and the books add up', () => expectOneRecordEach(stage))
