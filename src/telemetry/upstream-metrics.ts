import type { Attempt } from '../core/attempt.ts'
import type { Channel, VendorKey } from '../core/catalog.ts'
import { Histogram } from './histogram.ts'
import type { Exposed, Family, Sample } from './prometheus.ts'

type AttemptOutcome = Pick<Attempt, 'channel' | 'status' | 'durationMs' | 'firstByteMs'>

interface BreakerLook {
  readonly state: 'closed' | 'open' | 'half-open'
  readonly isRefused: boolean
}

interface UpstreamMetricsDeps {
  /** Those of the catalog, at this moment. */
  channels(): readonly Channel[]
  ofChannel(channel: Channel): BreakerLook
  ofKey(channel: string, keyId: string): BreakerLook
}

const CHANNEL_STATES = ['closed', 'open', 'half-open', 'paused'] as const
const KEY_STATES = ['closed', 'open', 'half-open', 'refused', 'paused', 'unreadable'] as const

/**
 * Upstreams as Prometheus sees them. Names of channels and ids of keys are those of the catalog, so that there are no more
 * of them than somebody configured.
 */
export class UpstreamMetrics implements Exposed {
  private readonly deps: UpstreamMetricsDeps
  private readonly counts = new Map<string, Counts>()

  constructor(deps: UpstreamMetricsDeps) {
    this.deps = deps
  }

  /** On the path of every request. */
  attempt({ channel, status, durationMs, firstByteMs }: AttemptOutcome): void {
    const counts = this.countsOf(channel)
    counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1)
    counts.durations.observe(durationMs)
    if (firstByteMs !== undefined) counts.firstBytes.observe(firstByteMs)
  }

  /** This channel failed, and another try follows. */
  retry(channel: string): void {
    this.countsOf(channel).retries++
  }

  /** What is no longer in the catalog is no longer counted. */
  follow(_before: readonly Channel[], after: readonly Channel[]): void {
    const names = new Set(after.map(({ name }) => name))
    for (const name of this.counts.keys()) if (!names.has(name)) this.counts.delete(name)
  }

  families(): readonly Family[] {
    const channels = this.deps.channels()
    // A call may end after its channel is gone.
    const counted = channels.flatMap(({ name }) => {
      const counts = this.counts.get(name)
      return counts ? [{ name, counts }] : []
    })
    const samples = (of: (counts: Counts, channel: string) => readonly Sample[]) =>
      counted.flatMap(({ name, counts }) => of(counts, name))
    return [
      {
        name: 'duet_upstream_requests_total',
        help: 'Attempts at upstreams by outcome; a request may take several.',
        type: 'counter',
        samples: samples(({ statuses }, channel) =>
          [...statuses].map(([status, value]) => ({ labels: { channel, status }, value })),
        ),
      },
      {
        name: 'duet_upstream_retries_total',
        help: 'Attempts that failed and were followed by another one, by the channel that failed.',
        type: 'counter',
        samples: samples(({ retries }, channel) => [{ labels: { channel }, value: retries }]),
      },
      {
        name: 'duet_upstream_duration_seconds',
        help: 'How long attempts took, whatever came of them.',
        type: 'histogram',
        samples: samples(({ durations }, channel) => durations.samples({ channel })),
      },
      {
        name: 'duet_upstream_first_byte_seconds',
        help: 'How long it took until an answer began to come.',
        type: 'histogram',
        samples: samples(({ firstBytes }, channel) => firstBytes.samples({ channel })),
      },
      {
        name: 'duet_channel_state',
        help: 'Which state a channel is in: open means that it is left alone for a while.',
        type: 'gauge',
        samples: channels.flatMap(channel =>
          oneOf(CHANNEL_STATES, this.channelState(channel), { channel: channel.name }),
        ),
      },
      {
        name: 'duet_channel_key_state',
        help: 'Which state a vendor key is in: refused means that the vendor does not take it.',
        type: 'gauge',
        samples: channels.flatMap(channel =>
          channel.keys.flatMap(key =>
            oneOf(KEY_STATES, this.keyState(channel, key), { channel: channel.name, key: key.id }),
          ),
        ),
      },
    ]
  }

  private channelState(channel: Channel): (typeof CHANNEL_STATES)[number] {
    return channel.isPaused ? 'paused' : this.deps.ofChannel(channel).state
  }

  private keyState({ name }: Channel, { id, isPaused, secret }: VendorKey): (typeof KEY_STATES)[number] {
    if (isPaused) return 'paused'
    if (secret === undefined) return 'unreadable'
    const { state, isRefused } = this.deps.ofKey(name, id)
    return isRefused ? 'refused' : state
  }

  private countsOf(channel: string): Counts {
    let counts = this.counts.get(channel)
    if (!counts) {
      counts = { statuses: new Map(), retries: 0, durations: new Histogram(), firstBytes: new Histogram() }
      this.counts.set(channel, counts)
    }
    return counts
  }
}

interface Counts {
  /** By `ok` or code: a closed set. */
  readonly statuses: Map<string, number>
  retries: number
  readonly durations: Histogram
  readonly firstBytes: Histogram
}

/** Every state is there, and one of them is 1: so an alarm need not know when a state begins or ends to exist. */
const oneOf = <S extends string>(states: readonly S[], actual: S, labels: Readonly<Record<string, string>>): Sample[] =>
  states.map(state => ({ labels: { ...labels, state }, value: state === actual ? 1 : 0 }))
