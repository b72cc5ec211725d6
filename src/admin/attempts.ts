import { AdminError } from './failure.ts'

export interface AttemptLimits {
  readonly failuresMax: number
  readonly windowMs: number
}

interface Failures {
  count: number
  readonly until: number
}

/** Names and addresses that are remembered at once; beyond it the oldest are forgotten. */
const REMEMBERED_MAX = 10_000

/** How often somebody was wrong lately. In memory: a restart forgives, which costs an attacker more than it gives. */
export class Attempts {
  private readonly limits: AttemptLimits
  private readonly clock: () => number
  private readonly failures = new Map<string, Failures>()

  constructor(limits: AttemptLimits, clock: () => number) {
    this.limits = limits
    this.clock = clock
  }

  /** Before the attempt, and before anything expensive. */
  refuseIfTooMany(who: string): void {
    const known = this.current(who)
    if (!known || known.count < this.limits.failuresMax) return
    const retryAfter = Math.ceil((known.until - this.clock()) / 1000)
    throw new AdminError(429, 'too_many_attempts', `too many attempts; try again in ${retryAfter} seconds`, {
      retryAfter,
    })
  }

  /** Counted when the attempt begins: many at once must not all pass before the first has failed. */
  begin(who: string): void {
    const known = this.current(who)
    if (known) known.count++
    else this.failures.set(who, { count: 1, until: this.clock() + this.limits.windowMs })
    const [oldest] = this.failures.keys()
    if (this.failures.size > REMEMBERED_MAX && oldest !== undefined) this.failures.delete(oldest)
  }

  succeeded(who: string): void {
    this.failures.delete(who)
  }

  /** It was no failure of this one, or no attempt at all. */
  takeBack(who: string): void {
    const known = this.current(who)
    if (known) known.count--
  }

  private current(who: string): Failures | undefined {
    const known = this.failures.get(who)
    if (known && known.until > this.clock()) return known
    this.failures.delete(who)
    return undefined
  }
}

const TEN_MINUTES_MS = 10 * 60_000

/** Failed redemptions of codes, by the member who tried: ten guesses at 80 bits are none. */
export const redemptionLimits = (clock: () => number): Attempts =>
  new Attempts({ failuresMax: 10, windowMs: TEN_MINUTES_MS }, clock)

const HOUR_MS = 3_600_000

/** Playground keys, by account: each is a row that stays, because what it paid for stays. */
export const playgroundLimits = (clock: () => number): Attempts =>
  new Attempts({ failuresMax: 100, windowMs: HOUR_MS }, clock)
