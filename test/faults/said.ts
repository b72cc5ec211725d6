import { bodyOf, framesOf, type Said } from '../pairs/wire.ts'
import type { JsonBody } from '../support/duet.ts'
import { eventStream } from '../support/upstream.ts'
import { vendorError } from '../support/vendor.ts'
import type { ProtocolName } from '../support/wire.ts'
import type { Bill } from './bills.ts'
import type { Scene } from './play.ts'
import { promptTokensIn, tokensIn, type Way } from './support.ts'

/** What the upstream of these tests says, and how it stops saying it. */

export const TEXT = 'Most of what you have asked me before was still in the cache.'

/**
 * 1,000 tokens in, of which 600 were read from the cache and 100 written to it; 9 out, which is less than anybody would
 * count in `TEXT`, so that a count cannot be taken for a report.
 */
export const USAGE = {
  chat: {
    prompt_tokens: 1000,
    completion_tokens: 9,
    total_tokens: 1009,
    prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 100 },
  },
  messages: {
    input_tokens: 300,
    output_tokens: 9,
    cache_read_input_tokens: 600,
    cache_creation_input_tokens: 100,
  },
}
export const PROMPT = { input: 300, cache_read: 600, cache_write: 100 }
export const REPORTED = { ...PROMPT, output: 9 }

export const ANSWER: Said = { text: TEXT, finish: 'stop', usage: USAGE }

/** An upstream that answers as it is asked: whole, or as a stream. */
export const says =
  (said: Said) =>
  ({ protocol, body }: Scene): Response =>
    body.stream ? eventStream(framesOf(protocol, said)) : new Response(bodyOf(protocol, said))

export const frames = (protocol: ProtocolName, said = ANSWER): string[] => framesOf(protocol, said)

/** The same with other texts in place of the one, a frame each. */
export const framesWith = (protocol: ProtocolName, texts: readonly string[], usage?: Said['usage']): string[] =>
  frames(protocol, { text: '@', finish: 'stop', ...(usage && { usage }) }).flatMap(frame =>
    frame.includes('"@"') ? texts.map(text => frame.replace('"@"', JSON.stringify(text))) : [frame],
  )

/** All of the text, and nothing of the end. */
export function openingFrames(protocol: ProtocolName): string[] {
  const all = frames(protocol)
  const isText = (frame: string) => frame.includes('"content":"') || frame.includes('text_delta')
  return all.slice(0, all.findLastIndex(isText) + 1)
}

/** Without `[DONE]`, or `message_stop`. */
export const withoutEndMark = (all: readonly string[]): string[] => all.slice(0, -1)

/** Frames that travel together are read together: who passes the first one on has taken notice of the last. */
export const together = (all: readonly string[]): string[] => [all.join('')]

/** As much of a whole answer as to know that there is more. */
export const halfBody = (protocol: ProtocolName): string => bodyOf(protocol, ANSWER).slice(0, 150)

export function errorFrame(protocol: ProtocolName): string {
  const data = `data: ${JSON.stringify(vendorError(protocol, 'overloaded, and no word of this is output'))}\n\n`
  return protocol === 'chat' ? data : `event: error\n${data}`
}

/** The bill of a stream that broke off after the text: the prompt as far as the upstream has said, the rest counted. */
export const relayed = (status: string, { upstream }: Way, request: JsonBody): Bill => ({
  ...{ status, ending: null, source: 'counted' },
  // Only one of the protocols speaks of the prompt before the end.
  tokens: { ...(upstream === 'messages' ? PROMPT : { input: promptTokensIn(request) }), output: tokensIn(TEXT) },
})
