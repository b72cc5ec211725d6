import type { AttemptCounts, AttemptLimits } from '../core/attempts.ts'
import type { Sealer } from '../core/seal.ts'

/** Counts for one kind of attempts: those who fail at one thing are not the same as those who fail at another. */
export type Counting = (kind: string) => AttemptCounts

interface Failures {
  count: number
  readonly until: number
}

/** Names and addresses that are remembered at once; beyond it the oldest are forgotten. */
const REMEMBERED_MAX = 10_000

/** In memory: a restart forgives, which costs an attacker more than it gives. */
export class MemoryCounts implements AttemptCounts {
  private readonly clock: () => number
  private readonly failures = new Map<string, Failures>()

  constructor(clock: () => number) {
    this.clock = clock
  }

  async add(who: string, { failuresMax, windowMs }: AttemptLimits): Promise<number | undefined> {
    const known = this.current(who)
    if (known && known.count >= failuresMax) return known.until - this.clock()
    if (known) known.count++
    else this.failures.set(who, { count: 1, until: this.clock() + windowMs })
    const [oldest] = this.failures.keys()
    if (this.failures.size > REMEMBERED_MAX && oldest !== undefined) this.failures.delete(oldest)
    return undefined
  }

  async takeBack(who: string): Promise<void> {
    const known = this.current(who)
    if (known) known.count--
  }

  async forget(who: string): Promise<void> {
    this.failures.delete(who)
  }

  private current(who: string): Failures | undefined {
    const known = this.failures.get(who)
    if (known && known.until > this.clock()) return known
    this.failures.delete(who)
    return undefined
  }
}

/** Counts that all replicas share. What was typed as a name may be a password: none of it is written in clear. */
export function sharedCounting(counts: AttemptCounts, sealer: Sealer): Counting {
  return kind => {
    const signed = (who: string) => sealer.sign(`attempts ${kind} ${who}`)
    return {
      add: (who, limits) => counts.add(signed(who), limits),
      takeBack: who => counts.takeBack(signed(who)),
      forget: who => counts.forget(signed(who)),
    }
  }
}
