import type { Caller } from '../core/directory.ts'
import { type Failure, GatewayError } from '../core/failure.ts'
import type { KeyUses } from '../core/key-uses.ts'
import { once } from '../core/once.ts'
import { KeyTalk } from './key-talk.ts'
import { type KeyState, NOBODY } from './key-use.ts'
import { LastMinute } from './last-minute.ts'

/** Nobody knows when a request under way will end. */
const CONCURRENT_RETRY_SECONDS = 1
const SWEEP_MS = 60_000
const UNLIMITED = Number.POSITIVE_INFINITY

const nothingToLeave = (): void => {}

/**
 * Requests under way at once and in any minute, for keys that have a limit for either. In memory: what counts is the last
 * minute, and one that begins with a restart is as good as any other. Where there are other replicas, their requests count
 * as well, as far as they have told.
 */
export class KeyLimits {
  /** A clock that never goes back: a minute stays a minute when somebody sets the time. */
  private readonly clock: () => number
  private readonly states = new Map<string, KeyState>()
  private readonly talk: KeyTalk | undefined
  private sweptAt = 0

  constructor(clock: () => number, uses?: KeyUses) {
    this.clock = clock
    this.talk = uses && new KeyTalk(this.states, uses, clock)
  }

  /** To be awaited before `enter` where it is not undefined: what others do with a key has not been heard of lately. */
  ask({ keyId, maxConcurrent, maxPerMinute }: Caller): Promise<void> | undefined {
    if (!this.talk || (maxConcurrent === undefined && maxPerMinute === undefined)) return undefined
    return this.talk.about(this.stateOf(keyId))
  }

  /** Counts a request, or refuses it uncounted. Returns what is to be called when the request is over. */
  enter({ keyId, maxConcurrent = UNLIMITED, maxPerMinute = UNLIMITED }: Caller): () => void {
    if (maxConcurrent === UNLIMITED && maxPerMinute === UNLIMITED) return nothingToLeave
    const now = this.clock()
    this.forgetIdle(now)
    const state = this.stateOf(keyId)
    const { others, lastMinute } = state
    // The minute first: whoever is at both limits has to wait for the later one.
    const waitMs = lastMinute.msUntilBelow(maxPerMinute, now, others.recent)
    if (waitMs > 0) throw limited('per-minute', Math.ceil(waitMs / 1000))
    if (state.underWay + others.underWay >= maxConcurrent) throw limited('concurrent', CONCURRENT_RETRY_SECONDS)
    // Both are counted for either limit, so that one that is added holds from the next request on.
    state.underWay++
    state.entered++
    lastMinute.add(now)
    return once(() => state.underWay--)
  }

  /** Keys that are remembered. */
  get size(): number {
    return this.states.size
  }

  stop(): void {
    this.talk?.stop()
  }

  private stateOf(keyId: string): KeyState {
    const known = this.states.get(keyId)
    if (known) return known
    const state = { underWay: 0, entered: 0, lastMinute: new LastMinute(), others: NOBODY }
    this.states.set(keyId, state)
    return state
  }

  private forgetIdle(now: number): void {
    // What others were told is taken back first.
    if (this.talk || now - this.sweptAt < SWEEP_MS) return
    this.sweptAt = now
    for (const [keyId, { underWay, lastMinute }] of this.states) {
      if (underWay === 0 && lastMinute.isEmpty(now)) this.states.delete(keyId)
    }
  }
}

type Limit = Extract<Failure, { kind: 'rate-limited' }>['limit']

const limited = (limit: Limit, retryAfterSeconds: number): GatewayError =>
  new GatewayError({ kind: 'rate-limited', limit, retryAfterSeconds })
