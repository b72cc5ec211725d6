/** How upstreams have been doing since the start, as seen from live traffic. Nothing is probed, nothing is written down. */

/** Outcomes that are remembered of each channel, and of each of its keys. */
const REMEMBERED = 200
/** The latest of them, which decide between healthy and degraded. */
const RECENT = 20
const DEGRADED_SHARE = 0.2
/** So many failures in a row, and nothing else, mean that it is down. */
const DOWN_FAILURES = 5

export interface Outcome {
  readonly channel: string
  /** Undefined for a channel without credentials. */
  readonly keyId: string | undefined
  /** Undefined where the upstream answered. */
  readonly failure: UpstreamFailure | undefined
  readonly durationMs: number
  readonly firstByteMs: number | undefined
}

export interface UpstreamFailure {
  /** For operators; no secret is in it. */
  readonly text: string
  /** The credential was refused: another try with it is in vain. */
  readonly isAuth: boolean
}

export type HealthState = 'unused' | 'healthy' | 'degraded' | 'down'

export interface HealthReport {
  readonly state: HealthState
  /** Of those remembered. */
  readonly requests: number
  readonly errors: number
  /** Of those that were answered, oldest first. */
  readonly durationsMs: readonly number[]
  readonly firstBytesMs: readonly number[]
  readonly lastOkAt: number | undefined
  readonly lastErrorAt: number | undefined
  readonly lastError: string | undefined
  /** Since when there have been failures only; undefined while it is not down. */
  readonly downSince: number | undefined
}

/** What matters about a channel here. */
interface Followed {
  readonly name: string
  readonly protocol: string
  readonly baseUrl: string
  readonly isPaused: boolean
  readonly keys: readonly FollowedKey[]
}

interface FollowedKey {
  readonly id: string
  readonly isPaused: boolean
}

interface Tracks {
  all: Track
  readonly keys: Map<string, Track>
}

export class Health {
  /** The beginning of what is remembered. */
  readonly since: number
  private readonly clock: () => number
  private readonly channels = new Map<string, Tracks>()

  constructor(clock: () => number) {
    this.clock = clock
    this.since = clock()
  }

  /** On the path of every request: a few numbers are written into places that are there already. */
  note(outcome: Outcome): void {
    const now = this.clock()
    let channel = this.channels.get(outcome.channel)
    if (!channel) {
      channel = { all: new Track(), keys: new Map() }
      this.channels.set(outcome.channel, channel)
    }
    channel.all.note(outcome, now)
    if (outcome.keyId === undefined) return
    let key = channel.keys.get(outcome.keyId)
    if (!key) {
      key = new Track()
      channel.keys.set(outcome.keyId, key)
    }
    key.note(outcome, now)
  }

  of(channel: string): HealthReport {
    return (this.channels.get(channel)?.all ?? UNUSED).report()
  }

  ofKey(channel: string, keyId: string): HealthReport {
    return (this.channels.get(channel)?.keys.get(keyId) ?? UNUSED).report()
  }

  /** It answers again, or somebody has seen to it: what it did before counts no longer, though it is remembered. */
  forgive(channel: string, keyId: string | undefined): void {
    const tracks = this.channels.get(channel)
    tracks?.all.forgive()
    if (keyId !== undefined) tracks?.keys.get(keyId)?.forgive()
  }

  /** What was seen of an upstream says nothing about another one under the same name, nor about other keys. */
  follow(before: readonly Followed[], after: readonly Followed[]): void {
    const [old, now] = [byName(before), byName(after)]
    for (const [name, tracks] of this.channels) {
      const [was, is] = [old.get(name), now.get(name)]
      if (!was || !is || was.baseUrl !== is.baseUrl || was.protocol !== is.protocol) this.channels.delete(name)
      else if (idsOf(was) !== idsOf(is)) {
        tracks.all = new Track()
        for (const id of tracks.keys.keys()) if (!is.keys.some(key => key.id === id)) tracks.keys.delete(id)
      }
      if (was && is) this.forgiveResumed(was, is)
    }
  }

  private forgiveResumed(was: Followed, is: Followed): void {
    const isResumed = was.isPaused && !is.isPaused
    if (isResumed) this.forgive(is.name, undefined)
    for (const { id, isPaused } of is.keys) {
      const wasPaused = was.keys.some(key => key.id === id && key.isPaused)
      if (isResumed || (wasPaused && !isPaused)) this.forgive(is.name, id)
    }
  }
}

const byName = (channels: readonly Followed[]) => new Map(channels.map(channel => [channel.name, channel]))

const idsOf = ({ keys }: Followed): string => keys.map(({ id }) => id).join()

/** The latest outcomes in a ring: one that failed has no duration. */
class Track {
  private readonly durations = new Float64Array(REMEMBERED)
  private readonly firstBytes = new Float64Array(REMEMBERED)
  private count = 0
  private failuresInARow = 0
  private failingSince = 0
  private isRefused = false
  private lastOkAt: number | undefined
  private lastErrorAt: number | undefined
  private lastError: string | undefined

  note({ failure, durationMs, firstByteMs }: Outcome, now: number): void {
    const place = this.count++ % REMEMBERED
    this.durations[place] = failure ? Number.NaN : durationMs
    this.firstBytes[place] = failure ? Number.NaN : (firstByteMs ?? Number.NaN)
    this.isRefused = failure?.isAuth ?? false
    if (!failure) {
      this.failuresInARow = 0
      this.lastOkAt = now
      return
    }
    if (this.failuresInARow++ === 0) this.failingSince = now
    this.lastErrorAt = now
    this.lastError = failure.text
  }

  forgive(): void {
    this.failuresInARow = 0
    this.isRefused = false
  }

  report(): HealthReport {
    const durations = this.inOrder(this.durations)
    const answered = durations.filter(isNumber)
    const state = this.stateOf(durations)
    return {
      state,
      requests: durations.length,
      errors: durations.length - answered.length,
      durationsMs: answered,
      firstBytesMs: this.inOrder(this.firstBytes).filter(isNumber),
      lastOkAt: this.lastOkAt,
      lastErrorAt: this.lastErrorAt,
      lastError: this.lastError,
      downSince: state === 'down' ? this.failingSince : undefined,
    }
  }

  private stateOf(durations: readonly number[]): HealthState {
    if (durations.length === 0) return 'unused'
    if (this.isRefused || this.failuresInARow >= DOWN_FAILURES) return 'down'
    const recent = durations.slice(-RECENT)
    const failed = recent.filter(Number.isNaN).length
    return failed / recent.length >= DEGRADED_SHARE ? 'degraded' : 'healthy'
  }

  private inOrder(ring: Float64Array): number[] {
    if (this.count <= REMEMBERED) return [...ring.subarray(0, this.count)]
    const oldest = this.count % REMEMBERED
    return [...ring.subarray(oldest), ...ring.subarray(0, oldest)]
  }
}

const isNumber = (value: number): boolean => !Number.isNaN(value)

const UNUSED = new Track()
