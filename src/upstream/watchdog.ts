import { GatewayError, type TimeLimit } from '../core/failure.ts'

/**
 * Two timers a call: one for whatever is awaited next, and one for the call as a whole, which runs out also while nothing is
 * awaited because nobody reads.
 */
export class Watchdog {
  readonly abort: AbortController
  private readonly endsAt: number
  private readonly total: ReturnType<typeof setTimeout>
  private awaited: TimeLimit | undefined
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(abort: AbortController, totalMs: number) {
    this.abort = abort
    this.endsAt = performance.now() + totalMs
    this.total = this.limit('total', totalMs)
    // Whoever calls it off need not know of timers.
    abort.signal.addEventListener('abort', () => this.end(), { once: true })
  }

  /** Of the call as a whole. */
  get leftMs(): number {
    return Math.max(0, this.endsAt - performance.now())
  }

  expect(awaited: TimeLimit, limitMs: number): void {
    clearTimeout(this.timer)
    this.awaited = awaited
    this.timer = this.limit(awaited, limitMs)
  }

  isAwaiting(what: TimeLimit): boolean {
    return this.awaited === what
  }

  rest(): void {
    clearTimeout(this.timer)
    this.awaited = undefined
  }

  /** The call is over, or all but over: only what is awaited from here on has a limit. */
  end(): void {
    this.rest()
    clearTimeout(this.total)
  }

  private limit(phase: TimeLimit, limitMs: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.abort.abort(new GatewayError({ kind: 'upstream-timeout', phase })), limitMs)
  }
}
