import type { Attempt } from '../core/attempt.ts'
import type { Model } from '../core/catalog.ts'
import { codeOf, type Failure, type GatewayError } from '../core/failure.ts'
import type { HeldCall } from '../core/ledger.ts'
import type { Breakers, Trial } from '../routing/breakers.ts'
import type { Route } from '../routing/choose.ts'
import type { Health } from '../routing/health.ts'
import { faultOf } from './outcome.ts'

/** Counts what upstreams were asked, for whoever watches the gateway. */
export interface AttemptCounts {
  attempt(outcome: Pick<Attempt, 'channel' | 'status' | 'durationMs' | 'firstByteMs'>): void
  /** This channel failed, and another try follows. */
  retry(channel: string): void
}

interface TriesDeps {
  readonly model: Model
  readonly counts: AttemptCounts
  readonly breakers: Pick<Breakers, 'begin'>
  readonly health: Pick<Health, 'note'>
  readonly clock: () => number
  /** When the request came. */
  readonly startedAt: number
}

/** One try, from its beginning. */
interface Try {
  readonly route: Route
  readonly trial: Trial
  readonly startedAt: number
  firstByteMs: number | undefined
  durationMs: number | undefined
  failure: Failure | undefined
}

/** The upstreams that one request was sent to, in their order. What each of them did is told to whoever chooses the next. */
export class Tries {
  /** What is not tried again for this request. */
  readonly excluded = { channels: new Set<string>(), keys: new Set<string>() }
  private readonly deps: TriesDeps
  private readonly all: Try[] = []
  private current: Try

  constructor(first: Route, deps: TriesDeps) {
    this.deps = deps
    this.current = this.begin(first)
  }

  get route(): Route {
    return this.current.route
  }

  get count(): number {
    return this.all.length
  }

  begin(route: Route): Try {
    const { breakers, clock, counts } = this.deps
    if (this.count > 0) counts.retry(this.route.channel.name)
    const begun = { firstByteMs: undefined, durationMs: undefined, failure: undefined }
    this.current = { route, trial: breakers.begin(route), startedAt: clock(), ...begun }
    this.all.push(this.current)
    return this.current
  }

  /** An answer has begun to come. */
  firstByte(): void {
    if (this.current.firstByteMs !== undefined) return
    this.current.firstByteMs = this.elapsed()
    this.current.trial.answered()
  }

  /** The current one is over. Whoever sees its end first tells it; everyone after says nothing new. */
  end(failed: GatewayError | undefined): void {
    const { route, trial, durationMs, firstByteMs } = this.current
    if (durationMs !== undefined) return
    this.current.durationMs = this.elapsed()
    this.current.failure = failed?.failure
    const timings = { firstByteMs, durationMs: this.current.durationMs }
    const status = failed ? codeOf(failed.failure) : 'ok'
    this.deps.counts.attempt({ channel: route.channel.name, status, ...timings })
    const fault = failed && faultOf(failed, this.deps.model, route)
    if (fault) trial.failed(fault)
    else trial.left()
    if (fault?.scope === 'key' && route.key) this.excluded.keys.add(route.key.id)
    else if (fault) this.excluded.channels.add(route.channel.name)
    // A caller who left, or a request that was refused with good reason, is no measure of an upstream.
    if (failed && !fault) return
    this.deps.health.note({ channel: route.channel.name, keyId: route.key?.id, failure: fault, ...timings })
  }

  /** A call as its record names it: by the upstream that had it last. */
  placed(call: HeldCall): HeldCall {
    const { name, protocol } = this.route.channel
    return this.count === 1 ? call : { ...call, channel: name, upstreamProtocol: protocol }
  }

  /** For the record; undefined where the first upstream is all there is to tell. `end` is how the request ends, if it is not over yet. */
  attempts(end: Failure | undefined, wordsFor: (failure: Failure) => string): readonly Attempt[] | undefined {
    if (this.count === 1) return undefined
    return this.all.map(({ route: { channel, key }, startedAt, firstByteMs, durationMs, failure }) => {
      const ended = durationMs === undefined ? end : failure
      return {
        ...{ channel: channel.name, keyId: key?.id, protocol: channel.protocol },
        ...{ status: ended ? codeOf(ended) : 'ok', error: ended && wordsFor(ended) },
        ...{ startMs: startedAt - this.deps.startedAt, firstByteMs },
        durationMs: durationMs ?? this.deps.clock() - startedAt,
      }
    })
  }

  private elapsed(): number {
    return this.deps.clock() - this.current.startedAt
  }
}
