import { StoreUnavailable } from '../core/store.ts'

export interface OutageDeps {
  /** Asks the store for something that changes little; throws `StoreUnavailable` while it is away. */
  probe(): Promise<unknown>
  /** Told when the store is certainly away, with what it was noticed by. */
  confirmed(cause: StoreUnavailable): void
  /** Told each time that it was asked in vain. */
  lasts(): void
  /** Told when it can be asked again; how long it was away, if it certainly was. */
  ended(awayMs: number | undefined): void
}

/** A connection that broke at once may be all that is wrong; one that does not answer for this long is not. */
const BREAK_MS_MAX = 1_000

/** A connection that broke is made anew at once; a server that restarts takes seconds, and must not be stormed. */
const PAUSE_MS = { first: 100, most: 1_000 } as const

/**
 * Whether the store can be asked. It is known from what became of the last question: while it is away nobody has to find out
 * for himself, and one small question after the other finds out when it is back.
 */
export class Outage {
  private readonly deps: OutageDeps
  private since: number | undefined
  /** It is not just that a connection broke. */
  isCertain = false
  private endedAt = Number.NEGATIVE_INFINITY
  private pauseMs = 0

  constructor(deps: OutageDeps) {
    this.deps = deps
  }

  get isOn(): boolean {
    return this.since !== undefined
  }

  /** A question that was asked then has failed. */
  begin(cause: StoreUnavailable, askedAt: number): void {
    if (this.isOn) return
    const since = performance.now()
    this.since = since
    // One that answers a small question and fails with the next large one is not asked faster and faster.
    this.pauseMs = since - this.endedAt < PAUSE_MS.most ? nextPause(this.pauseMs) : 0
    if (since - askedAt > BREAK_MS_MAX || this.pauseMs > 0) this.confirm(cause)
    this.endure(since, cause)
  }

  private async endure(since: number, cause: StoreUnavailable): Promise<void> {
    for (;;) {
      if (this.pauseMs > 0) await Bun.sleep(this.pauseMs)
      if (!(await this.isAway())) break
      this.confirm(cause)
      this.deps.lasts()
      this.pauseMs = nextPause(this.pauseMs)
    }
    this.endedAt = performance.now()
    const awayMs = this.isCertain ? this.endedAt - since : undefined
    this.since = undefined
    this.isCertain = false
    this.deps.ended(awayMs)
  }

  private confirm(cause: StoreUnavailable): void {
    if (this.isCertain) return
    this.isCertain = true
    this.deps.confirmed(cause)
  }

  /** A store that finds fault with the question is there. */
  private async isAway(): Promise<boolean> {
    try {
      await this.deps.probe()
      return false
    } catch (error) {
      return error instanceof StoreUnavailable
    }
  }
}

const nextPause = (pauseMs: number): number => Math.min(Math.max(PAUSE_MS.first, pauseMs * 2), PAUSE_MS.most)
