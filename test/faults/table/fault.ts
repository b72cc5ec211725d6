import { NO_PROGRESS, type Progress, WHOLE_PROGRESS } from './answer.ts'
import type { Code, Mishap, Outcome } from './outcome.ts'
import type { Script, Step } from './script.ts'

/** How far an exchange has come when something goes wrong. */
export const STAGES = [
  'at connect',
  'after the request headers',
  'after the request',
  'after the status line',
  'after the headers',
  'after the first frame',
  'in the content',
  'after the finish reason',
  'before the end mark',
  'after the end',
] as const
export type Stage = (typeof STAGES)[number]

/** Those at which a body is under way, or over. */
export const BODY_STAGES = STAGES.slice(STAGES.indexOf('after the headers'))

/** How long a channel waits. A short limit is for those who stall: a slow machine must not make one of the others. */
export type Patience = 'long' | 'short' | 'short in all'

/** What goes wrong, and what the caller is owed then. */
export interface Fault {
  readonly name: string
  readonly stage: Stage
  readonly script: Script
  readonly outcome: Outcome
  readonly patience: Patience
  /** What becomes of the next request to the same upstream, which has nothing wrong with it any more. */
  readonly after: 'works' | 'rests' | 'works or rests'
  /** Nobody listens at its port. */
  readonly refuses?: true
  /** It spoils a connection that looks as good as new: nobody else may be given it. */
  readonly spoils?: boolean
  /** A prompt too long for one packet, so that an upstream can stop in the middle of it. */
  readonly isLongRequest?: true
  /** The caller's protocol has no part in it, so it is tried with one of them only. */
  readonly isAside?: true
}

export interface Happening {
  readonly name: string
  readonly stage: Stage
  readonly script: Script
}

export const failing = (happening: Happening, outcome: Outcome, patience: Patience = 'long'): Fault => ({
  ...{ ...happening, outcome, patience, after: 'works' },
})

/** Odd, and no reason to fail. */
export const sound = (happening: Happening): Fault =>
  failing(happening, { sees: 'an answer', progress: WHOLE_PROGRESS })

export const error = (code: Code): Outcome => ({ sees: 'an error', code })

export const onRequest = (...steps: readonly Step[]): Script => ({ begins: 'at the request', steps })

// ── lines ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** How a line ends on which more was to come. */
export const LINE_ENDS = ['resets', 'hangs up', 'stalls'] as const
export type LineEnd = (typeof LINE_ENDS)[number]

const STEPS: Readonly<Record<LineEnd, Step>> = {
  resets: { do: 'reset' },
  'hangs up': { do: 'close' },
  stalls: { do: 'stall' },
}

export const stepOf = (end: LineEnd): Step => STEPS[end]

export const mishapOf = (end: LineEnd): Mishap => ({ code: end === 'stalls' ? 'upstream_timeout' : 'upstream_error' })

export const patienceOf = (end: LineEnd): Patience => (end === 'stalls' ? 'short' : 'long')

/** What was sent of an answer, and what somebody knows who has it. */
export interface Sent {
  readonly pieces: readonly Uint8Array[]
  readonly progress: Progress
}

export const NOTHING: Sent = { pieces: [], progress: NO_PROGRESS }
