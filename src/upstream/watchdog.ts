import { GatewayError, type TimeLimit } from '../core/failure.ts'

/** One timer a call, armed for whatever is awaited next, and never for longer than the call may take as a whole. */
export class Watchdog {
  readonly abort: AbortController
  private readonly endsAt: number
  private awaited: TimeLimit | undefined
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(abort: AbortController, totalMs: number) {
    this.abort = abort
    this.endsAt = performance.now() + totalMs
  }

  /** Of the call as a whole. */
  get leftMs(): number {
    return Math.max(0, this.endsAt - performance.now())
  }

  expect(awaited: TimeLimit, limitMs: number): void {
    clearTimeout(this.timer)
    this.awaited = awaited
    const { leftMs } = this
    const phase = leftMs < limitMs ? 'total' : awaited
    this.timer = setTimeout(
      () => this.abort.abort(new GatewayError({ kind: 'upstream-timeout', phase })),
      Math.min(leftMs, limitMs),
    )
  }

  isAwaiting(what: TimeLimit): boolean {
    return this.awaited === what
  }

  rest(): void {
    clearTimeout(this.timer)
    this.awaited = undefined
  }
}
