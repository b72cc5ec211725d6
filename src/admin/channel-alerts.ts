import type { Catalog } from '../routing/catalog.ts'
import type { AlertView } from './contract.ts'
import { type HealthSource, viewChannelHealth } from './health-view.ts'

/** Upstreams that do not answer, or cannot be asked. One that was paused does what it was told. */
export function channelAlerts({ channels }: Catalog, source: HealthSource & { readonly since: number }): AlertView[] {
  return channels.flatMap(channel => {
    const { state, last_error: error, down_since } = viewChannelHealth(channel, source)
    const since = down_since ?? new Date(source.since).toISOString()
    return state === 'down' ? [{ kind: 'channel-down' as const, channel: channel.name, error, since }] : []
  })
}
