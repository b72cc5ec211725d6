import type { AttemptCounts, AttemptLimits } from '../core/attempts.ts'
import type { Counting } from './attempt-counts.ts'
import { AdminError } from './failure.ts'

/** How often somebody was wrong lately. */
export class Attempts {
  private readonly limits: AttemptLimits
  private readonly counts: AttemptCounts

  constructor(limits: AttemptLimits, counts: AttemptCounts) {
    this.limits = limits
    this.counts = counts
  }

  /**
   * Before anything expensive. Counted when the attempt begins: many at once must not all pass before the first has failed.
   * One that is refused is not counted.
   */
  async begin(who: string): Promise<void> {
    const leftMs = await this.counts.add(who, this.limits)
    if (leftMs === undefined) return
    const retryAfter = Math.ceil(leftMs / 1000)
    throw new AdminError(429, 'too_many_attempts', `too many attempts; try again in ${retryAfter} seconds`, {
      retryAfter,
    })
  }

  succeeded(who: string): Promise<void> {
    return this.counts.forget(who)
  }

  /** It was no failure of this one, or no attempt at all. */
  takeBack(who: string): Promise<void> {
    return this.counts.takeBack(who)
  }
}

const TEN_MINUTES_MS = 10 * 60_000

/** Failed redemptions of codes, by the member who tried: ten guesses at 80 bits are none. */
export const redemptionLimits = (counting: Counting): Attempts =>
  new Attempts({ failuresMax: 10, windowMs: TEN_MINUTES_MS }, counting('redemption'))

const HOUR_MS = 3_600_000

/** Playground keys, by account: each is a row that stays, because what it paid for stays. */
export const playgroundLimits = (counting: Counting): Attempts =>
  new Attempts({ failuresMax: 100, windowMs: HOUR_MS }, counting('playground'))
