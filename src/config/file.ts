import type { z } from 'zod'
import type { Channel, Model } from '../core/catalog.ts'
import { pricePerMillion } from '../core/money.ts'
import type { Price } from '../core/price.ts'
import { BUILTIN_MODELS } from './builtin.ts'
import { crossFaults } from './cross.ts'
import { ConfigError } from './faults.ts'
import { DEFAULT_TIMEOUTS, PRESETS, type Preset, presetModels, servedModels } from './presets.ts'
import { type ChannelEntry, FILE, type ModelEntry, type PriceEntry } from './schema.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What a configuration file says about models and upstreams. */
export interface CatalogParts {
  readonly models: readonly Model[]
  readonly channels: readonly Channel[]
  readonly aliases: ReadonlyMap<string, string>
}

/** Reads `duet.yaml`; throws a `ConfigError` with every fault and its path. */
export function readCatalogFile(text: string, env: Environment): CatalogParts {
  const faults: string[] = []
  const raw = substitute(parseYaml(text) ?? {}, { env, faults, path: '' })
  const file = FILE.safeParse(raw)
  if (!file.success) faults.push(...file.error.issues.flatMap(describe))
  faults.push(
    ...crossFaults(
      raw,
      BUILTIN_MODELS.map(({ id }) => id),
      env,
    ),
  )
  if (!file.success || faults.length > 0) throw new ConfigError(faults)
  const models = file.data.models?.map(toModel) ?? BUILTIN_MODELS
  return {
    models,
    channels: (file.data.channels ?? []).map(entry => toChannel(entry, models, env)),
    aliases: new Map(Object.entries(file.data.aliases ?? {})),
  }
}

function parseYaml(text: string): unknown {
  try {
    return Bun.YAML.parse(text)
  } catch (error) {
    throw new ConfigError([`not valid YAML: ${error instanceof Error ? error.message : error}`])
  }
}

interface Place {
  readonly env: Environment
  readonly faults: string[]
  readonly path: string
}

/** `${NAME}` anywhere in a value comes from the environment; an unset one is a fault, not an empty string. */
function substitute(value: unknown, place: Place): unknown {
  const { env, faults, path } = place
  if (typeof value === 'string') {
    return value.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, fallback?: string) => {
      const found = env[name] || fallback
      if (found === undefined) faults.push(`${path}: the environment variable ${name} is not set`)
      return found ?? `unset-${name}`
    })
  }
  if (Array.isArray(value)) return value.map((item, index) => substitute(item, { ...place, path: `${path}[${index}]` }))
  if (typeof value !== 'object' || value === null) return value
  const inside = path === '' ? '' : `${path}.`
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, substitute(item, { ...place, path: inside + key })]),
  )
}

function describe(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text ? `${text}.${String(step)}` : String(step)),
    '',
  )
  if (issue.code !== 'unrecognized_keys') return [`${path || 'file'}: ${issue.message}`]
  return issue.keys.map(key => `${path ? `${path}.` : ''}${key}: unknown key`)
}

function toModel(entry: ModelEntry): Model {
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

function toChannel(entry: ChannelEntry, models: readonly Model[], env: Environment): Channel {
  const preset = entry.vendor === undefined ? undefined : PRESETS[entry.vendor]
  const protocol = entry.protocol ?? preset?.protocol ?? 'chat'
  const { connect, first_byte, idle } = entry.timeout
  return {
    name: entry.name,
    protocol,
    baseUrl: (entry.base_url ?? preset?.baseUrl ?? '').replace(/\/+$/, ''),
    apiKeys: keysOf(entry, preset, env),
    models: servedModels(namesOf(entry, preset, models), { protocol, preset, given: entry.capabilities }),
    priority: entry.priority,
    weight: entry.weight,
    groups: entry.groups,
    timeouts: {
      connectMs: connect ?? DEFAULT_TIMEOUTS.connectMs,
      firstByteMs: first_byte ?? DEFAULT_TIMEOUTS.firstByteMs,
      idleMs: idle ?? DEFAULT_TIMEOUTS.idleMs,
    },
    withheld: preset?.withheld ?? [],
    replyHeaders: {},
  }
}

function keysOf({ api_key, api_keys }: ChannelEntry, preset: Preset | undefined, env: Environment): string[] {
  const given = api_keys ?? (api_key === undefined ? [] : [api_key])
  const known = preset?.variables.map(name => env[name]).find(Boolean)
  return given.length > 0 || known === undefined ? given : [known]
}

function namesOf(entry: ChannelEntry, preset: Preset | undefined, models: readonly Model[]): Map<string, string> {
  if (Array.isArray(entry.models)) return new Map(entry.models.map(id => [id, id]))
  if (entry.models) return new Map(Object.entries(entry.models))
  const ids = models.map(({ id }) => id)
  return preset ? presetModels(preset, ids) : new Map()
}
