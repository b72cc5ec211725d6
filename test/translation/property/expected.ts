import type { ProtocolName } from '../../../src/core/ask.ts'
import type { FinishReason } from '../../../src/core/turn.ts'
import { NO_USAGE, type Usage } from '../../../src/core/usage.ts'
import type { View } from '../../../src/protocol/protocol.ts'
import type { JsonBody } from '../../support/duet.ts'
import { type Answer, callsIn, honestReason, saidIn } from './answer.ts'
import { chatUsage } from './chat-vendor.ts'
import type { Heard } from './heard.ts'
import { COST } from './play.ts'

const FINISHES: Record<ProtocolName, Record<FinishReason, string>> = {
  chat: {
    stop: 'stop',
    'stop-sequence': 'stop',
    length: 'length',
    'tool-calls': 'tool_calls',
    refusal: 'content_filter',
  },
  messages: {
    stop: 'end_turn',
    'stop-sequence': 'stop_sequence',
    length: 'max_tokens',
    'tool-calls': 'tool_use',
    refusal: 'refusal',
  },
}

export const usageOf = (client: ProtocolName, usage: Usage): JsonBody =>
  client === 'chat'
    ? { ...chatUsage(usage), cost: COST }
    : {
        input_tokens: usage.input,
        cache_creation_input_tokens: usage.cacheWrite,
        cache_read_input_tokens: usage.cacheRead,
        output_tokens: usage.output,
        output_tokens_details: { thinking_tokens: usage.reasoning },
        cost: COST,
      }

interface Ways {
  readonly client: ProtocolName
  readonly upstream: ProtocolName
  readonly view: View
  /** The caller's names of tools, by those that the upstream knows. */
  readonly names: ReadonlyMap<string, string>
  /** The reason that the vendor gave last, if any. */
  readonly word: string | undefined
}

/** What a client of one dialect must hear of an answer that an upstream of another has given. */
export function expectedOf(answer: Answer, { client, upstream, view, names, word }: Ways): Heard {
  const isShown = client === 'chat' || view.showThinking
  const isCrossed = upstream === 'messages' && client === 'chat'
  return {
    text: isCrossed ? paragraphs(answer) : saidIn(answer, 'text'),
    reasoning: isShown ? saidIn(answer, 'thinking') : '',
    calls: callsIn(answer).map(({ id, name, arguments: made }) => ({
      id: id ?? '',
      name: names.get(name) ?? name,
      arguments: made || '{}',
    })),
    finish: client === upstream ? likeFinish(client, answer, word) : FINISHES[client][honestReason(answer)],
    stopSequence: client === 'chat' ? undefined : (answer.stopSequence ?? null),
    usage: client === 'chat' && !view.includeUsage ? undefined : usageOf(client, answer.usage ?? NO_USAGE),
  }
}

/** The vendor's own word, unless it hides a call. */
function likeFinish(client: ProtocolName, answer: Answer, word: string | undefined): string {
  const isHidden = answer.reason === 'stop' && callsIn(answer).length > 0
  return (isHidden ? undefined : word) ?? FINISHES[client][honestReason(answer)]
}

/** Texts with something between them are paragraphs of their own. */
function paragraphs({ blocks }: Answer): string {
  let text = ''
  let isApart = false
  for (const block of blocks) {
    if (block.type === 'text') text += isApart && text !== '' ? `\n\n${block.text}` : block.text
    isApart = block.type !== 'text'
  }
  return text
}

/** An id that the other dialect would refuse is another one, and one that was missing is made up: both must be legal. */
export function withKnownIds(heard: Heard, expected: Heard): Heard {
  return {
    ...heard,
    calls: heard.calls.map((call, place) => {
      const given = expected.calls[place]?.id ?? ''
      const isPlain = /^[A-Za-z0-9_-]{1,64}$/.test(given)
      return isPlain || !/^[A-Za-z0-9_-]{1,64}$/.test(call.id) ? call : { ...call, id: given }
    }),
  }
}
