import type { Attempt } from '../core/attempt.ts'
import type { Model } from '../core/catalog.ts'
import { codeOf, type Failure, type GatewayError } from '../core/failure.ts'
import type { HeldCall } from '../core/ledger.ts'
import type { Breakers, Trial, UpstreamFault } from '../routing/breakers.ts'
import { type Excluded, keyPlace, NONE_EXCLUDED, type Route } from '../routing/choose.ts'
import type { Health } from '../routing/health.ts'
import { blameOf, faultOf, isCallers } from './outcome.ts'

/** Counts what upstreams were asked, for whoever watches the gateway. */
export interface AttemptCounts {
  attempt(outcome: Pick<Attempt, 'channel' | 'status' | 'durationMs' | 'firstByteMs'>): void
  /** An attempt failed, and another one follows. */
  retry(failed: FailedAttempt): void
}

export interface FailedAttempt {
  readonly requestId: string
  readonly channel: string
  readonly keyId: string | undefined
  readonly status: string
}

interface TriesDeps {
  readonly requestId: string
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
  /** What is not tried again for this request; most have nothing. */
  excluded: Excluded = NONE_EXCLUDED
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

  /** How long the current one has taken, or took. */
  get currentMs(): number {
    return this.current.durationMs ?? this.elapsed()
  }

  begin(route: Route): Try {
    const { breakers, clock } = this.deps
    if (this.count > 0) this.countRetry()
    const trial = breakers.begin(route)
    this.current = {
      route,
      trial,
      startedAt: clock(),
      firstByteMs: undefined,
      durationMs: undefined,
      failure: undefined,
    }
    this.all.push(this.current)
    return this.current
  }

  /** The upstream has taken the request. */
  heard(): void {
    this.current.trial.heard()
  }

  /** An answer has begun to come. */
  firstByte(): void {
    this.current.firstByteMs ??= this.elapsed()
  }

  /** It is not asked at all: the request was refused for reasons of our own. */
  callOff(): void {
    this.current.trial.left()
  }

  /** The current one is over. Whoever sees its end first tells it; everyone after says nothing new. */
  end(failed: GatewayError | undefined): void {
    if (this.current.durationMs !== undefined) return
    const { route, firstByteMs } = this.current
    const durationMs = this.elapsed()
    this.current.durationMs = durationMs
    this.current.failure = failed?.failure
    if (failed) this.exclude(failed.failure)
    const fault = failed && this.faultOf(failed)
    this.tell(failed?.failure, fault)
    const outcome = { channel: route.channel.name, durationMs, firstByteMs }
    this.deps.counts.attempt({ ...outcome, status: failed ? statusOf(failed.failure) : 'ok' })
    // A caller who left, or a request that was refused with good reason, is no measure of an upstream.
    if (!failed || fault) this.deps.health.note({ ...outcome, keyId: route.key?.id, failure: fault })
  }

  /** A channel that cannot be given the request. */
  skip({ channel }: Route): void {
    const { channels, keys } = this.excluded
    this.excluded = { channels: new Set(channels).add(channel.name), keys }
  }

  private countRetry(): void {
    const { route, failure } = this.current
    const { requestId, counts } = this.deps
    const status = failure ? codeOf(failure) : 'ok'
    counts.retry({ requestId, channel: route.channel.name, keyId: route.key?.id, status })
  }

  private exclude(failure: Failure): void {
    const { channel, key } = this.route
    const scope = blameOf(failure)?.scope
    if (scope === 'key' && key) this.skipKey(keyPlace(channel.name, key.id))
    else if (scope) this.skip(this.route)
  }

  private skipKey(place: string): void {
    const { channels, keys } = this.excluded
    this.excluded = { channels, keys: new Set(keys).add(place) }
  }

  /** An answer that takes longer than a call may take has a slow reader as often as a slow writer. */
  private faultOf(failed: GatewayError): UpstreamFault | undefined {
    const { failure } = failed
    const isSlow = failure.kind === 'upstream-timeout' && failure.phase === 'total'
    return isSlow && this.current.firstByteMs !== undefined ? undefined : faultOf(failed, this.deps.model, this.route)
  }

  private tell(failure: Failure | undefined, fault: UpstreamFault | undefined): void {
    const { trial, firstByteMs } = this.current
    // Who was in the middle of an answer when its caller left, or has told one what is wrong with a request, is well.
    const isWell = firstByteMs !== undefined || failure?.kind === 'upstream-invalid-request'
    if (fault) trial.failed(fault)
    else if (!failure || isWell) trial.answered()
    else trial.left()
  }

  /** A call as its record names it: by the upstream that had it last. */
  placed(call: HeldCall): HeldCall {
    const { name, protocol } = this.route.channel
    return this.count === 1 ? call : { ...call, channel: name, upstreamProtocol: protocol }
  }

  /** For the record; undefined where the first upstream is all there is to tell. `end` is how one ends that is not over yet. */
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

/** Who watches upstreams must not be alarmed by callers who will not wait. */
const statusOf = (failure: Failure): string =>
  failure.kind === 'upstream-timeout' && isCallers(failure) ? 'caller_timeout' : codeOf(failure)
