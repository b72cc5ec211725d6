import type { BreakerSettings, Channel } from '../core/catalog.ts'
import { Breaker, type BreakerState } from './breaker.ts'
import { type Availability, keyPlace, type Route } from './choose.ts'

/** What went wrong with a call, as far as it is the upstream's doing. */
export interface UpstreamFault {
  /** Whose fault it is: another key of the same channel may still be good. */
  readonly scope: 'channel' | 'key'
  readonly isAuth: boolean
  readonly restMs: number | undefined
  /** For operators; no secret is in it. */
  readonly text: string
}

/** One call under way, and what it tells about its route. */
export interface Trial {
  /** The upstream has begun to answer. */
  heard(): void
  /** It was asked, and did what it should. */
  answered(): void
  failed(fault: UpstreamFault): void
  /** It ended for reasons that are not the upstream's. */
  left(): void
}

export interface BreakerReport {
  readonly state: BreakerState
  /** The end of the rest; undefined while closed. */
  readonly restsUntil: number | undefined
  readonly isRefused: boolean
}

/** What operators are told when it happens. */
export interface BreakerChange {
  readonly type: 'left-alone' | 'refused' | 'back'
  readonly channel: string
  /** Undefined where the channel as a whole is meant. */
  readonly keyId: string | undefined
  readonly restMs: number
  readonly problem: string | undefined
}

interface BreakersDeps {
  /** Never goes back, so that a rest stays as long as it is when somebody sets the time. */
  readonly clock: () => number
  /** For reports. */
  readonly now: () => number
  readonly tell: (change: BreakerChange) => void
}

const CLOSED: BreakerReport = { state: 'closed', restsUntil: undefined, isRefused: false }

/** A breaker as one call knows it: in the catalog of another moment there may be another one in its place. */
interface Watched {
  readonly breaker: Breaker
  readonly settings: BreakerSettings
  readonly channel: string
  readonly keyId: string | undefined
  /** Where it stood, and under which name: there may be another one by now. */
  readonly breakers: ReadonlyMap<string, Breaker>
  readonly name: string
  isProbe: boolean
}

/** Who is left alone for a while: channels that fail, and keys that are refused. In memory: a restart asks everyone again. */
export class Breakers implements Availability {
  private readonly deps: BreakersDeps
  /** When the clock began, so that the end of a rest is the same time whenever somebody looks. */
  private readonly epoch: number
  /** By name, and by `keyPlace`; of those that have been asked, which are no more than there are in the catalog. */
  private readonly channels = new Map<string, Breaker>()
  private readonly keys = new Map<string, Breaker>()

  constructor(deps: BreakersDeps) {
    this.deps = deps
    this.epoch = deps.now() - deps.clock()
  }

  admitsChannel(channel: string): boolean {
    return this.channels.get(channel)?.admits(this.deps.clock()) ?? true
  }

  admitsKey(channel: string, keyId: string): boolean {
    return this.keys.get(keyPlace(channel, keyId))?.admits(this.deps.clock()) ?? true
  }

  restMs({ channel, key }: Route): number {
    const now = this.deps.clock()
    const ofKey = key && this.keys.get(keyPlace(channel.name, key.id))?.restMs(now)
    return Math.max(this.channels.get(channel.name)?.restMs(now) ?? 0, ofKey ?? 0)
  }

  begin({ channel: { name, breaker: settings }, key }: Route): Trial {
    if (!settings) return UNWATCHED
    const ofChannel = this.watch(this.channels, { channel: name, keyId: undefined, settings })
    const ofKey = key && this.watch(this.keys, { channel: name, keyId: key.id, settings })
    return new WatchedTrial(this, ofChannel, ofKey)
  }

  of(channel: string): BreakerReport {
    return this.report(this.channels.get(channel))
  }

  ofKey(channel: string, keyId: string): BreakerReport {
    return this.report(this.keys.get(keyPlace(channel, keyId)))
  }

  /** An operator has seen to it: whoever was left alone is asked again. */
  forget(channel: string, keyId: string | undefined): void {
    this.channels.delete(channel)
    if (keyId !== undefined) this.keys.delete(keyPlace(channel, keyId))
  }

  /** What is no longer in the catalog, or is somebody else by now, or was resumed, starts afresh. */
  follow(before: readonly Channel[], after: readonly Channel[]): void {
    const old = new Map(before.map(channel => [channel.name, channel]))
    const same = after.filter(channel => isSameUpstream(old.get(channel.name), channel))
    const channels = new Set(same.map(({ name }) => name))
    const keys = new Set(same.flatMap(channel => keptKeys(old.get(channel.name), channel)))
    for (const name of this.channels.keys()) if (!channels.has(name)) this.channels.delete(name)
    for (const name of this.keys.keys()) if (!keys.has(name)) this.keys.delete(name)
  }

  private watch(breakers: Map<string, Breaker>, who: Pick<Watched, 'channel' | 'keyId' | 'settings'>): Watched {
    const name = who.keyId === undefined ? who.channel : keyPlace(who.channel, who.keyId)
    const breaker = breakers.get(name) ?? new Breaker()
    breakers.set(name, breaker)
    const { channel, keyId, settings } = who
    return { channel, keyId, settings, breaker, breakers, name, isProbe: breaker.begin(this.deps.clock()) }
  }

  hear(watched: Watched): void {
    const { breaker, settings, isProbe } = watched
    // It has found out; what happens later happens to a call like any other.
    watched.isProbe = false
    if (breaker.hear(isProbe, settings)) this.tell(watched, { type: 'back', restMs: 0, problem: undefined })
  }

  fail(watched: Watched, { restMs, isAuth, text: problem }: UpstreamFault): void {
    const { breaker, settings, isProbe } = watched
    const now = this.deps.clock()
    const isNews = breaker.fail({ now, settings, restMs, isAuth, isProbe })
    if (isNews) this.tell(watched, { type: isAuth ? 'refused' : 'left-alone', restMs: breaker.restMs(now), problem })
  }

  private tell(watched: Watched, change: Omit<BreakerChange, 'channel' | 'keyId'>): void {
    const { channel, keyId, breaker, breakers, name } = watched
    if (breakers.get(name) === breaker) this.deps.tell({ channel, keyId, ...change })
  }

  private report(breaker: Breaker | undefined): BreakerReport {
    if (!breaker) return CLOSED
    const now = this.deps.clock()
    const state = breaker.stateAt(now)
    const restsUntil = state === 'closed' ? undefined : Math.round(now + breaker.restMs(now) + this.epoch)
    return { state, restsUntil, isRefused: breaker.isRefused }
  }
}

/** What becomes of a call is told to the breaker of its channel, and to that of its key, if it has one. */
class WatchedTrial implements Trial {
  private readonly breakers: Pick<Breakers, 'hear' | 'fail'>
  private readonly channel: Watched
  private readonly key: Watched | undefined

  constructor(breakers: Pick<Breakers, 'hear' | 'fail'>, channel: Watched, key: Watched | undefined) {
    this.breakers = breakers
    this.channel = channel
    this.key = key
  }

  heard(): void {
    this.breakers.hear(this.channel)
    if (this.key) this.breakers.hear(this.key)
  }

  answered(): void {
    this.heard()
    this.channel.breaker.succeed()
    this.key?.breaker.succeed()
  }

  failed(fault: UpstreamFault): void {
    const [guilty, other] = fault.scope === 'key' && this.key ? [this.key, this.channel] : [this.channel, this.key]
    this.breakers.fail(guilty, fault)
    // The other one is as unknown as before.
    if (other) leave(other)
  }

  left(): void {
    leave(this.channel)
    if (this.key) leave(this.key)
  }
}

const leave = ({ breaker, isProbe }: Watched): void => breaker.leave(isProbe)

/** For a channel that is always asked. */
const UNWATCHED: Trial = { heard: () => {}, answered: () => {}, failed: () => {}, left: () => {} }

function isSameUpstream(was: Channel | undefined, is: Channel): boolean {
  if (!was || !is.breaker || isResumed(was, is)) return false
  return was.baseUrl === is.baseUrl && was.protocol === is.protocol
}

const isResumed = (was: { readonly isPaused: boolean }, is: { readonly isPaused: boolean }): boolean =>
  was.isPaused && !is.isPaused

function keptKeys(was: Channel | undefined, is: Channel): string[] {
  const kept = is.keys.filter(key => was?.keys.some(before => before.id === key.id && !isResumed(before, key)))
  return kept.map(({ id }) => keyPlace(is.name, id))
}
