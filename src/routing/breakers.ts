import type { BreakerSettings, Channel } from '../core/catalog.ts'
import { Breaker, type BreakerState } from './breaker.ts'
import type { Availability, Route } from './choose.ts'

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
  /** Something came that is an answer. */
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
  readonly clock: () => number
  readonly tell: (change: BreakerChange) => void
}

const CLOSED: BreakerReport = { state: 'closed', restsUntil: undefined, isRefused: false }

/** Who is left alone for a while: channels that fail, and keys that are refused. In memory: a restart asks everyone again. */
export class Breakers implements Availability {
  private readonly clock: () => number
  private readonly tell: (change: BreakerChange) => void
  /** Of those that have failed; there are no more than channels and keys in the catalog. */
  private readonly channels = new Map<string, Breaker>()
  private readonly keys = new Map<string, Breaker>()

  constructor({ clock, tell }: BreakersDeps) {
    this.clock = clock
    this.tell = tell
  }

  admitsChannel(channel: string): boolean {
    return this.channels.get(channel)?.admits(this.clock()) ?? true
  }

  admitsKey(channel: string, keyId: string): boolean {
    return this.keys.get(nameOf(channel, keyId))?.admits(this.clock()) ?? true
  }

  restMs({ channel, key }: Route): number {
    const now = this.clock()
    const ofKey = key && this.keys.get(nameOf(channel.name, key.id))?.restMs(now)
    return Math.max(this.channels.get(channel.name)?.restMs(now) ?? 0, ofKey ?? 0)
  }

  begin({ channel, key }: Route): Trial {
    const { name, breaker: settings } = channel
    if (!settings) return UNWATCHED
    const now = this.clock()
    let isChannelProbe = this.channels.get(name)?.begin(now) ?? false
    let isKeyProbe = (key && this.keys.get(nameOf(name, key.id))?.begin(now)) ?? false
    return {
      answered: () => {
        this.succeed(this.channels, { channel: name, keyId: undefined, isProbe: isChannelProbe })
        if (key) this.succeed(this.keys, { channel: name, keyId: key.id, isProbe: isKeyProbe })
        // It has found out; what happens later happens to a call like any other.
        isChannelProbe = false
        isKeyProbe = false
      },
      failed: fault => {
        const isKeys = fault.scope === 'key' && key !== undefined
        const keyId = isKeys ? key.id : undefined
        this.fail({ channel: name, keyId, isProbe: isKeys ? isKeyProbe : isChannelProbe }, fault, settings)
        // The other one is as unknown as before.
        if (isKeys) this.channels.get(name)?.leave(isChannelProbe)
        else if (key) this.keys.get(nameOf(name, key.id))?.leave(isKeyProbe)
      },
      left: () => {
        this.channels.get(name)?.leave(isChannelProbe)
        if (key) this.keys.get(nameOf(name, key.id))?.leave(isKeyProbe)
      },
    }
  }

  of(channel: string): BreakerReport {
    return this.report(this.channels.get(channel))
  }

  ofKey(channel: string, keyId: string): BreakerReport {
    return this.report(this.keys.get(nameOf(channel, keyId)))
  }

  /** An operator has seen to it: whoever was left alone is asked again. */
  forget(channel: string, keyId: string | undefined): void {
    this.channels.delete(channel)
    if (keyId !== undefined) this.keys.delete(nameOf(channel, keyId))
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

  private succeed(breakers: ReadonlyMap<string, Breaker>, { channel, keyId, isProbe }: Tried): void {
    const wasOpen = breakers.get(keyId === undefined ? channel : nameOf(channel, keyId))?.succeed(isProbe)
    if (wasOpen) this.tell({ type: 'back', channel, keyId, restMs: 0, problem: undefined })
  }

  private fail({ channel, keyId, isProbe }: Tried, fault: UpstreamFault, settings: BreakerSettings): void {
    const [breakers, name] =
      keyId === undefined ? ([this.channels, channel] as const) : ([this.keys, nameOf(channel, keyId)] as const)
    const breaker = breakers.get(name) ?? new Breaker()
    breakers.set(name, breaker)
    const now = this.clock()
    const { restMs, isAuth, text } = fault
    if (!breaker.fail({ now, settings, restMs, isAuth, isProbe })) return
    const type = isAuth ? 'refused' : 'left-alone'
    this.tell({ type, channel, keyId, restMs: breaker.restMs(now), problem: text })
  }

  private report(breaker: Breaker | undefined): BreakerReport {
    if (!breaker) return CLOSED
    const now = this.clock()
    const state = breaker.stateAt(now)
    const restsUntil = state === 'closed' ? undefined : now + breaker.restMs(now)
    return { state, restsUntil, isRefused: breaker.isRefused }
  }
}

interface Tried {
  readonly channel: string
  readonly keyId: string | undefined
  readonly isProbe: boolean
}

/** For a channel that is always asked. */
const UNWATCHED: Trial = { answered: () => {}, failed: () => {}, left: () => {} }

/** Names of channels have no slash. */
const nameOf = (channel: string, keyId: string): string => `${channel}/${keyId}`

function isSameUpstream(was: Channel | undefined, is: Channel): boolean {
  if (!was || !is.breaker || isResumed(was, is)) return false
  return was.baseUrl === is.baseUrl && was.protocol === is.protocol
}

const isResumed = (was: { readonly isPaused: boolean }, is: { readonly isPaused: boolean }): boolean =>
  was.isPaused && !is.isPaused

function keptKeys(was: Channel | undefined, is: Channel): string[] {
  const kept = is.keys.filter(key => was?.keys.some(before => before.id === key.id && !isResumed(before, key)))
  return kept.map(({ id }) => nameOf(is.name, id))
}
