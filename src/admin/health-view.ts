import type { Channel, VendorKey } from '../core/catalog.ts'
import { percentile } from '../core/percentile.ts'
import type { Health, HealthReport } from '../routing/health.ts'
import type { ChannelKeyView, HealthView } from './contract.ts'

export type HealthSource = Pick<Health, 'of' | 'ofKey'>

/** What a key says for itself that cannot be used at all. */
const SEALED = 'this key was sealed with another DUET_SECRET and cannot be opened; give it again'

export function viewChannelHealth({ name, isPaused, keys }: Channel, health: HealthSource): HealthView {
  const view = viewHealth(health.of(name))
  const lost = keys.filter(({ secret }) => secret === undefined)
  const state = lost.length > 0 && lost.length === keys.length ? 'down' : view.state
  return {
    ...view,
    state: isPaused ? 'paused' : state,
    last_error: view.last_error ?? (lost.length > 0 ? SEALED : null),
  }
}

export function viewKey({ name }: Channel, key: VendorKey, health: HealthSource): ChannelKeyView {
  const { id, hint, isPaused, secret } = key
  const view = viewHealth(health.ofKey(name, id))
  const seen = secret === undefined ? ({ ...view, state: 'down', last_error: SEALED } as const) : view
  return { id, hint, paused: isPaused, health: isPaused ? { ...seen, state: 'paused' } : seen }
}

export function viewHealth(report: HealthReport): HealthView {
  const { state, requests, errors, durationsMs, firstBytesMs, lastOkAt, lastErrorAt, lastError, downSince } = report
  return {
    ...{ state, requests, errors, sample: durationsMs.length },
    p50_ms: percentile(durationsMs, 50) ?? null,
    p95_ms: percentile(durationsMs, 95) ?? null,
    first_byte_p50_ms: percentile(firstBytesMs, 50) ?? null,
    first_byte_p95_ms: percentile(firstBytesMs, 95) ?? null,
    last_ok_at: timeOf(lastOkAt),
    last_error_at: timeOf(lastErrorAt),
    last_error: lastError ?? null,
    down_since: timeOf(downSince),
  }
}

const timeOf = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString())
