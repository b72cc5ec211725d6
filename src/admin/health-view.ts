import type { Channel, VendorKey } from '../core/catalog.ts'
import { percentile } from '../core/percentile.ts'
import type { BreakerReport } from '../routing/breakers.ts'
import { type BreakerSource, reportOf } from '../routing/channel-report.ts'
import type { Health, HealthReport } from '../routing/health.ts'
import type { ChannelKeyView, HealthView } from './contract.ts'

/** What is known of upstreams: how their calls went, and who is left alone for a while. */
export interface HealthSource {
  readonly health: Pick<Health, 'of' | 'ofKey'>
  readonly breakers: BreakerSource
}

/** What a key says for itself that cannot be used at all. */
const SEALED = 'this key was sealed with another DUET_SECRET and cannot be opened; give it again'

export function viewChannelHealth(channel: Channel, { health, breakers }: HealthSource): HealthView {
  const { name, isPaused, keys, usableKeys } = channel
  const seen = viewHealth(channel, health.of(name), reportOf(channel, breakers))
  const lost = keys.filter(({ secret }) => secret === undefined)
  const out = usableKeys.filter(({ id }) => breakers.ofKey(name, id).state !== 'closed')
  const [problem] = out.flatMap(({ id }) => health.ofKey(name, id).lastError ?? [])
  const view = { ...seen, last_error: seen.last_error ?? problem ?? (lost.length > 0 ? SEALED : null) }
  if (isPaused) return { ...view, state: 'paused' }
  if (lost.length > 0 && lost.length === keys.length) return { ...view, state: 'down' }
  return out.length > 0 && view.state !== 'down' ? { ...view, state: 'degraded' } : view
}

export function viewKey(channel: Channel, key: VendorKey, { health, breakers }: HealthSource): ChannelKeyView {
  const { name } = channel
  const { id, hint, isPaused, secret } = key
  const view = viewHealth(channel, health.ofKey(name, id), breakers.ofKey(name, id))
  const seen = secret === undefined ? ({ ...view, state: 'down', last_error: SEALED } as const) : view
  return { id, hint, paused: isPaused, health: isPaused ? { ...seen, state: 'paused' } : seen }
}

function viewHealth(channel: Channel, report: HealthReport, rest: BreakerReport): HealthView {
  const { state: breaker, restsUntil, isRefused } = rest
  const { requests, errors, durationsMs, firstBytesMs, lastOkAt, lastErrorAt, lastError, downSince } = report
  const isOut = breaker === 'open'
  return {
    ...{ state: stateOf(channel, report.state, breaker), requests, errors, sample: durationsMs.length },
    p50_ms: percentile(durationsMs, 50) ?? null,
    p95_ms: percentile(durationsMs, 95) ?? null,
    first_byte_p50_ms: percentile(firstBytesMs, 50) ?? null,
    first_byte_p95_ms: percentile(firstBytesMs, 95) ?? null,
    last_ok_at: timeOf(lastOkAt),
    last_error_at: timeOf(lastErrorAt),
    last_error: lastError ?? null,
    down_since: timeOf(isOut || !channel.breaker ? (downSince ?? (isOut ? lastErrorAt : undefined)) : undefined),
    ...{ breaker, rests_until: timeOf(breaker === 'open' ? restsUntil : undefined), refused: isRefused },
  }
}

/**
 * Down is what is not asked. Of one whose rest is over nobody knows more until somebody asks it, which may be never: no reason
 * for an alarm. Only of one that is always asked do its latest calls decide.
 */
function stateOf(
  channel: Channel,
  seen: HealthReport['state'],
  breaker: BreakerReport['state'],
): HealthReport['state'] {
  if (breaker === 'open') return 'down'
  if (breaker === 'half-open') return 'degraded'
  return seen === 'down' && channel.breaker ? 'degraded' : seen
}

const timeOf = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString())
