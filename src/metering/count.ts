import type { Seen } from '../core/seen.ts'
import { NO_USAGE, promptTokens, type Usage, type UsageSource } from '../core/usage.ts'
import { estimateTokens } from './estimate.ts'

export interface Counted {
  readonly usage: Usage
  readonly source: UsageSource
}

/**
 * The upstream's numbers where it gave them, our own count of what was relayed where it did not. A report of nothing
 * for something that was there is no report, and one that was still growing is never taken for less than was relayed.
 */
export function count(seen: Seen, promptEstimate: number): Counted {
  const relayed = estimateTokens(seen)
  const reported = seen.usage ?? NO_USAGE
  const isFinal = seen.reported && (reported.output > 0 || relayed === 0)
  const hasPrompt = promptTokens(reported) > 0
  return {
    usage: {
      ...reported,
      input: hasPrompt ? reported.input : promptEstimate,
      output: isFinal ? reported.output : Math.max(reported.output, relayed),
    },
    source: isFinal && hasPrompt ? 'upstream' : 'counted',
  }
}

/** Nothing came back: the prompt was sent, and that is all that is known. */
export const countPrompt = (promptEstimate: number): Counted => ({
  usage: { ...NO_USAGE, input: promptEstimate },
  source: 'estimated',
})
