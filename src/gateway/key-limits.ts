import type { Caller } from '../core/directory.ts'
import { type Failure, GatewayError } from '../core/failure.ts'
import { once } from '../core/once.ts'
import { LastMinute } from './last-minute.ts'

interface Use {
  underWay: number
  readonly lastMinute: LastMinute
}

/** Nobody knows when a request under way will end. */
const CONCURRENT_RETRY_SECONDS = 1
const SWEEP_MS = 60_000
const UNLIMITED = Number.POSITIVE_INFINITY

const nothingToLeave = (): void => {}

/**
 * Requests under way at once and in any minute, for keys that have a limit for either. In memory: what counts is the last
 * minute, and one that begins with a restart is as good as any other.
 */
export class KeyLimits {
  /** A clock that never goes back: a minute stays a minute when somebody sets the time. */
  private readonly clock: () => number
  private readonly uses = new Map<string, Use>()
  private sweptAt = 0

  constructor(clock: () => number) {
    this.clock = clock
  }

  /** Counts a request, or refuses it uncounted. Returns what is to be called when the request is over. */
  enter({ keyId, maxConcurrent = UNLIMITED, maxPerMinute = UNLIMITED }: Caller): () => void {
    if (maxConcurrent === UNLIMITED && maxPerMinute === UNLIMITED) return nothingToLeave
    const now = this.clock()
    this.forgetIdle(now)
    const use = this.uses.get(keyId) ?? { underWay: 0, lastMinute: new LastMinute() }
    // The minute first: whoever is at both limits has to wait for the later one.
    const waitMs = use.lastMinute.msUntilBelow(maxPerMinute, now)
    if (waitMs > 0) throw limited('per-minute', Math.ceil(waitMs / 1000))
    if (use.underWay >= maxConcurrent) throw limited('concurrent', CONCURRENT_RETRY_SECONDS)
    this.uses.set(keyId, use)
    // Both are counted for either limit, so that one that is added holds from the next request on.
    use.underWay++
    use.lastMinute.add(now)
    return once(() => use.underWay--)
  }

  /** Keys that are remembered. */
  get size(): number {
    return this.uses.size
  }

  private forgetIdle(now: number): void {
    if (now - this.sweptAt < SWEEP_MS) return
    this.sweptAt = now
    for (const [keyId, { underWay, lastMinute }] of this.uses) {
      if (underWay === 0 && lastMinute.isEmpty(now)) this.uses.delete(keyId)
    }
  }
}

type Limit = Extract<Failure, { kind: 'rate-limited' }>['limit']

const limited = (limit: Limit, retryAfterSeconds: number): GatewayError =>
  new GatewayError({ kind: 'rate-limited', limit, retryAfterSeconds })
