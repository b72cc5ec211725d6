import type { Seen } from '../core/seen.ts'
import { NO_USAGE, type Usage, type UsageSource } from '../core/usage.ts'
import { estimateTokens } from './estimate.ts'

export interface Counted {
  readonly usage: Usage
  readonly source: UsageSource
}

/** The upstream's numbers where it gave them; else our own count of what was relayed, and never less than that. */
export function count(seen: Seen, promptEstimate: number): Counted {
  if (seen.usage && seen.reported) return { usage: seen.usage, source: 'upstream' }
  const relayed = estimateTokens(seen)
  const known = seen.usage ?? { ...NO_USAGE, input: promptEstimate }
  return { usage: { ...known, output: Math.max(known.output, relayed) }, source: 'counted' }
}

/** Nothing came back: the prompt was sent, and that is all that is known. */
export const countPrompt = (promptEstimate: number): Counted => ({
  usage: { ...NO_USAGE, input: promptEstimate },
  source: 'estimated',
})
