import type { BreakerSettings, Channel, Model } from '../core/catalog.ts'
import type { Pause } from '../core/managed.ts'
import { pricePerMillion } from '../core/money.ts'
import type { Price } from '../core/price.ts'
import { DEFAULT_BREAKER, DEFAULT_TIMEOUTS, PRESETS, type Preset, presetModels, servedModels } from './presets.ts'
import type { ChannelEntry, ModelEntry, PriceEntry } from './schema.ts'

/** What was written, as the rest of the house uses it. */

export function toModel(entry: ModelEntry, more: Pick<Model, 'origin' | 'enabled' | 'hides'>): Model {
  return {
    id: entry.id,
    name: entry.name ?? entry.id.slice(entry.id.indexOf('/') + 1),
    description: entry.description ?? '',
    price: entry.price && toPrice(entry.price),
    contextLength: entry.context_length,
    maxOutputTokens: entry.max_output_tokens,
    images: entry.images,
    recommended: entry.recommended,
    reasoning: entry.reasoning,
    ...more,
  }
}

function toPrice({ input, output, cache_read = input, cache_write = input }: PriceEntry): Price {
  return {
    input: pricePerMillion(input),
    output: pricePerMillion(output),
    cacheRead: pricePerMillion(cache_read),
    cacheWrite: pricePerMillion(cache_write),
  }
}

export interface ChannelParts extends Pick<Channel, 'origin' | 'hidesConsole'> {
  /** Ids of the catalog's models: what a preset serves is chosen from these. */
  readonly ids: readonly string[]
  readonly keys: readonly Omit<Channel['keys'][number], 'isPaused'>[]
}

export function toChannel(entry: ChannelEntry, { origin, hidesConsole, ids, keys }: ChannelParts): Channel {
  const preset = entry.vendor === undefined ? undefined : PRESETS[entry.vendor]
  const protocol = entry.protocol ?? preset?.protocol ?? 'chat'
  const { connect, first_byte, idle, total } = entry.timeout
  return {
    ...{ name: entry.name, origin, hidesConsole, vendor: entry.vendor, protocol },
    baseUrl: baseUrlOf(entry, preset),
    ...{ isPaused: false, keys: keys.map(key => ({ ...key, isPaused: false })), usableKeys: [] },
    models: servedModels(namesOf(entry, preset, ids), { protocol, preset, given: entry.capabilities }),
    priority: entry.priority,
    weight: entry.weight,
    groups: entry.groups,
    timeouts: {
      connectMs: connect ?? DEFAULT_TIMEOUTS.connectMs,
      firstByteMs: first_byte ?? DEFAULT_TIMEOUTS.firstByteMs,
      idleMs: idle ?? DEFAULT_TIMEOUTS.idleMs,
      totalMs: total ?? DEFAULT_TIMEOUTS.totalMs,
    },
    breaker: breakerOf(entry),
    withheld: preset?.withheld ?? [],
    replyHeaders: {},
  }
}

function breakerOf({ breaker }: ChannelEntry): BreakerSettings | undefined {
  if (breaker === false) return undefined
  const coolDownMs = breaker.cool_down ?? DEFAULT_BREAKER.coolDownMs
  return {
    failures: breaker.failures ?? DEFAULT_BREAKER.failures,
    coolDownMs,
    coolDownMsMax: Math.max(coolDownMs, breaker.cool_down_max ?? DEFAULT_BREAKER.coolDownMsMax),
  }
}

const baseUrlOf = ({ base_url }: ChannelEntry, preset: Preset | undefined): string =>
  (base_url ?? preset?.baseUrl ?? '').replace(/\/+$/, '')

function namesOf(entry: ChannelEntry, preset: Preset | undefined, ids: readonly string[]): Map<string, string> {
  if (Array.isArray(entry.models)) return new Map(entry.models.map(id => [id, id]))
  if (entry.models) return new Map(Object.entries(entry.models))
  return preset ? presetModels(preset, ids) : new Map()
}

/** The last step of every channel, whoever defines it: which of its keys calls are made with, and whether at all. */
export function withPauses(channel: Channel, pauses: readonly Pause[]): Channel {
  const here = pauses.filter(pause => pause.channel === channel.name).map(({ keyId }) => keyId)
  const keys = channel.keys.map(key => ({ ...key, isPaused: here.includes(key.id) }))
  const usableKeys = keys.flatMap(({ id, secret, isPaused }) =>
    isPaused || secret === undefined ? [] : [{ id, secret }],
  )
  return { ...channel, isPaused: here.includes(undefined), keys, usableKeys }
}
