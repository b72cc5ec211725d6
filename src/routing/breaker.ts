import type { BreakerSettings } from '../core/catalog.ts'

export type BreakerState = 'closed' | 'open' | 'half-open'

/** What a failure says about who failed. */
export interface Fault {
  readonly now: number
  readonly settings: BreakerSettings
  /** How long it wants to be left alone, if it says so. */
  readonly restMs: number | undefined
  /** The credential was refused: another try with it is in vain until somebody has seen to it. */
  readonly isAuth: boolean
  /** The call was made to find out whether it is back. */
  readonly isProbe: boolean
}

/** At first not for long: some vendors refuse a single request with these words. Somebody who has to act takes longer than that. */
const REFUSED_MS = 10_000
const REFUSED_MS_MAX = 3_600_000
/** Whoever finds out may think for minutes: after a while, another one may try, too. */
const PROBE_MS_MIN = 1_000

/**
 * Whether an upstream, or one key of it, is asked at all. Closed: it is. Open: it is left alone for a while. Half-open: one
 * real request finds out whether it is back, and all others go elsewhere until that is known.
 */
export class Breaker {
  /** The credential was refused, and nothing has been answered since. */
  isRefused = false
  private failures = 0
  /** The length of the last rest; the next one is twice as long. */
  private lastRestMs = 0
  /** The end of the rest; undefined while closed. */
  private until: number | undefined
  /** Until then nobody else need find out. */
  private probedUntil = 0

  stateAt(now: number): BreakerState {
    if (this.until === undefined) return 'closed'
    return now < this.until ? 'open' : 'half-open'
  }

  /** How long it is left alone from now on. */
  restMs(now: number): number {
    return this.until === undefined ? 0 : Math.max(0, this.until - now)
  }

  admits(now: number): boolean {
    return this.until === undefined || (now >= this.until && now >= this.probedUntil)
  }

  /** True if this call is the one that finds out. */
  begin(now: number): boolean {
    if (this.until === undefined || !this.admits(now)) return false
    this.probedUntil = now + Math.max(PROBE_MS_MIN, this.lastRestMs)
    return true
  }

  /**
   * It speaks again, and everyone may ask: true if it was left alone until now. Whether it can also finish is another
   * matter: until it has, one more failure is enough.
   */
  hear(isProbe: boolean, { failures }: BreakerSettings): boolean {
    if (this.until === undefined || !isProbe) return false
    this.until = undefined
    this.probedUntil = 0
    this.isRefused = false
    this.failures = failures - 1
    return true
  }

  /** An answer came to its end. One that began before the rest says nothing about what is now. */
  succeed(): void {
    if (this.until !== undefined) return
    this.failures = 0
    this.lastRestMs = 0
  }

  /** True if it is left alone from now on. */
  fail(fault: Fault): boolean {
    this.failures++
    this.isRefused ||= fault.isAuth
    if (fault.isProbe) this.probedUntil = 0
    const isNews = this.until === undefined || fault.isProbe
    const rest = isNews ? this.restAfter(fault) : fault.restMs
    if (rest === undefined) return false
    // Of many that fail together, each wants its rest counted from its own failure.
    this.until = Math.max(this.until ?? 0, fault.now + rest)
    return isNews
  }

  /** The call ended without a word from the upstream: somebody else has to find out. */
  leave(isProbe: boolean): void {
    if (isProbe) this.probedUntil = 0
  }

  private restAfter({ settings, restMs, isAuth, isProbe }: Fault): number | undefined {
    if (isAuth) return this.lengthen(REFUSED_MS, REFUSED_MS_MAX)
    // Who may be asked again at once has failed like everyone else.
    if (restMs !== undefined && restMs > 0) return restMs
    if (!isProbe && this.failures < settings.failures) return undefined
    return this.lengthen(settings.coolDownMs, settings.coolDownMsMax)
  }

  private lengthen(firstMs: number, mostMs: number): number {
    this.lastRestMs = this.lastRestMs === 0 ? firstMs : Math.min(mostMs, this.lastRestMs * 2)
    return this.lastRestMs
  }
}
