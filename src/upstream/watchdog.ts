import type { Abort } from '../core/abort.ts'
import { GatewayError, type TimeLimit } from '../core/failure.ts'

const NEVER = Number.POSITIVE_INFINITY

/**
 * Ends a call whose time is over: for whatever is awaited next, and for the call as a whole, which runs out also while
 * nothing is awaited because nobody reads. One timer for both, which is not moved when a limit is: it goes off early, finds
 * that there is time left, and waits on. So a piece of a stream costs two assignments.
 */
export class Watchdog {
  readonly abort: Abort
  private endsAt: number
  private awaited: TimeLimit = 'connect'
  private dueAt = NEVER
  private timer: ReturnType<typeof setTimeout> | undefined
  private goesOffAt = NEVER

  constructor(abort: Abort, totalMs: number) {
    this.abort = abort
    this.endsAt = performance.now() + totalMs
    // Whoever calls it off need not know of timers.
    abort.onAbort(() => this.end())
  }

  /** Of the call as a whole. */
  get leftMs(): number {
    return Math.max(0, this.endsAt - performance.now())
  }

  expect(awaited: TimeLimit, limitMs: number): void {
    this.awaited = awaited
    this.dueAt = performance.now() + limitMs
    this.wind()
  }

  rest(): void {
    this.dueAt = NEVER
  }

  /** The call is over, or all but over: only what is awaited from here on has a limit. */
  end(): void {
    this.dueAt = NEVER
    this.endsAt = NEVER
    this.goesOffAt = NEVER
    clearTimeout(this.timer)
  }

  private wind(): void {
    const next = Math.min(this.dueAt, this.endsAt)
    if (next >= this.goesOffAt) return
    clearTimeout(this.timer)
    this.goesOffAt = next
    this.timer = setTimeout(() => this.look(), next - performance.now())
  }

  private look(): void {
    const now = performance.now()
    this.goesOffAt = NEVER
    if (now >= this.dueAt) this.bark(this.awaited)
    else if (now >= this.endsAt) this.bark('total')
    else this.wind()
  }

  private bark(phase: TimeLimit): void {
    this.abort.abort(new GatewayError({ kind: 'upstream-timeout', phase }))
  }
}
