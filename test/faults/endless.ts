import { setImmediate } from 'node:timers/promises'
import type { UpstreamVisit } from '../support/upstream.ts'
import { chatFrame, messagesFrame, protocolOf } from '../support/vendor.ts'
import type { ProtocolName } from '../support/wire.ts'

/** What an upstream of these tests makes without end, ten tokens at a time. */
export type Matter = 'text' | 'thinking' | 'arguments' | 'counters'

export const DELTA_TOKENS = 10
/** As many tokens as the gateway counts in it. */
export const PIECE = 'abcd'.repeat(DELTA_TOKENS)
/** What it counts of every prompt. */
export const PROMPT_TOKENS = 12

/** Far more than any test pays for; an upstream that nobody stops falls silent then. */
const FRAMES_MAX = 20_000

const chatUsage = (output: number) => ({
  prompt_tokens: PROMPT_TOKENS,
  completion_tokens: output,
  total_tokens: PROMPT_TOKENS + output,
})

const call = (fields: object) => chatFrame({ delta: { tool_calls: [{ index: 0, ...fields }] } })

const block = (content_block: object) => messagesFrame('content_block_start', { index: 0, content_block })

const delta = (fields: object) => messagesFrame('content_block_delta', { index: 0, delta: fields })

const START = messagesFrame('message_start', {
  message: {
    ...{ id: 'msg_vendor', type: 'message', role: 'assistant', model: 'vendor', content: [] },
    ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: PROMPT_TOKENS, output_tokens: 1 } },
  },
})

const ROLE = chatFrame({ delta: { role: 'assistant', content: '' } })

const OPENINGS: Record<ProtocolName, Record<Matter, readonly string[]>> = {
  chat: {
    text: [ROLE],
    thinking: [ROLE],
    arguments: [
      call({ id: 'call_1', type: 'function', function: { name: 'write', arguments: '' } }),
      call({ function: { arguments: '{"text":"' } }),
    ],
    // Nothing of an answer comes before the counters have gone too far.
    counters: [],
  },
  messages: {
    text: [START, block({ type: 'text', text: '' })],
    thinking: [START, block({ type: 'thinking', thinking: '', signature: '' })],
    arguments: [
      START,
      block({ type: 'tool_use', id: 'toolu_1', name: 'write', input: {} }),
      delta({ type: 'input_json_delta', partial_json: '{"text":"' }),
    ],
    counters: [START],
  },
}

const GOING_ON: Record<ProtocolName, Record<Matter, (count: number) => string>> = {
  chat: {
    text: () => chatFrame({ delta: { content: PIECE } }),
    thinking: () => chatFrame({ delta: { reasoning_content: PIECE } }),
    arguments: () => call({ function: { arguments: PIECE } }),
    counters: count => chatFrame({}, { choices: [], usage: chatUsage(count * DELTA_TOKENS) }),
  },
  messages: {
    text: () => delta({ type: 'text_delta', text: PIECE }),
    thinking: () => delta({ type: 'thinking_delta', thinking: PIECE }),
    arguments: () => delta({ type: 'input_json_delta', partial_json: PIECE }),
    counters: count => messagesFrame('message_delta', { delta: {}, usage: { output_tokens: count * DELTA_TOKENS } }),
  },
}

/** Makes this, and nothing else, until it is told to stop. */
export function endless(matter: Matter): (visit: UpstreamVisit) => Response {
  return visit => {
    const protocol = protocolOf(visit)
    return going(visit, OPENINGS[protocol][matter], GOING_ON[protocol][matter])
  }
}

/** Sends the opening, then whatever comes next, as long as somebody reads. */
export function going(
  { signal }: UpstreamVisit,
  opening: readonly string[],
  next: (count: number) => string,
): Response {
  const utf8 = new TextEncoder()
  const frames = framesOf(opening, next)
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    // What is written in one turn travels as one chunk.
    await setImmediate()
    const { value } = frames.next()
    if (value === undefined || signal.aborted) return new Promise<void>(() => {})
    controller.enqueue(utf8.encode(value))
  }
  const body = new ReadableStream({ pull }, { highWaterMark: 0 })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

function* framesOf(opening: readonly string[], next: (count: number) => string): Generator<string, undefined> {
  yield* opening
  for (let count = 1; count <= FRAMES_MAX; count++) yield next(count)
}
