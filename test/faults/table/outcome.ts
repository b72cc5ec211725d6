import type { Progress } from './answer.ts'

/** What the caller of a failing upstream is owed: the rules of "Errors", before and after the first byte. */

export type Code =
  | 'upstream_error'
  | 'upstream_timeout'
  | 'upstream_auth_failed'
  | 'upstream_rate_limited'
  | 'upstream_invalid_request'

export const STATUS: Readonly<Record<Code, number>> = {
  upstream_error: 502,
  upstream_timeout: 504,
  upstream_auth_failed: 502,
  upstream_rate_limited: 429,
  upstream_invalid_request: 400,
}

export type Outcome =
  /** From its first byte to its last. */
  | { readonly sees: 'an answer'; readonly progress: Progress }
  /** A status and an error; nothing is charged. */
  | { readonly sees: 'an error'; readonly code: Code; readonly retryAfter?: string }
  /** As much as came, then the error of its protocol; what came is charged. */
  | { readonly sees: 'a broken stream'; readonly code: Code; readonly progress: Progress }
  /** The same, of a stream that comes as far as it comes. */
  | { readonly sees: 'a broken flow'; readonly code: Code }
  /** An endless stream until there is no money for more of it. */
  | { readonly sees: 'all that the money buys' }
  /** An endless stream until it has had enough of it. */
  | { readonly sees: 'what it wants to' }

export interface Mishap {
  readonly code: Code
  /** The upstream says something that is wrong, rather than nothing more. */
  readonly isLoud?: boolean
}

/** To whom an answer is complete it is an answer, however the line ends; who has none of it gets a status. */
export function outcomeOf(progress: Progress, { code, isLoud = false }: Mishap): Outcome {
  if (progress.isOver || (progress.isComplete && !isLoud)) return { sees: 'an answer', progress }
  return progress.hasBegun ? { sees: 'a broken stream', code, progress } : { sees: 'an error', code }
}

/** Whether another upstream may be asked: nothing has left yet, and the request itself is not at fault. */
export const mayFailOver = (outcome: Outcome): boolean =>
  outcome.sees === 'an error' && outcome.code !== 'upstream_invalid_request'
