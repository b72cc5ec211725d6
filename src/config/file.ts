import type { z } from 'zod'
import type { Channel, Model } from '../core/catalog.ts'
import { pricePerMillion } from '../core/money.ts'
import { BUILTIN_MODELS } from './builtin.ts'
import { ConfigError } from './faults.ts'
import { DEFAULT_TIMEOUTS, PRESETS, type Preset, presetModels } from './presets.ts'
import { type ChannelEntry, FILE, type ModelEntry } from './schema.ts'

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
  const file = FILE.safeParse(substitute(parseYaml(text) ?? {}, { env, faults, path: '' }))
  if (!file.success) throw new ConfigError([...faults, ...file.error.issues.flatMap(describe)])
  const models = file.data.models?.map(toModel) ?? BUILTIN_MODELS
  const entries = file.data.channels ?? []
  const channels = entries.map((entry, place) => toChannel(entry, { env, faults, models, path: `channels[${place}]` }))
  const aliases = new Map(Object.entries(file.data.aliases ?? {}))
  faults.push(
    ...duplicates(
      models.map(({ id }) => id),
      'models',
      'id',
    ),
  )
  faults.push(
    ...duplicates(
      entries.map(({ name }) => name),
      'channels',
      'name',
    ),
  )
  for (const [alias, id] of aliases) {
    if (!models.some(model => model.id === id)) faults.push(`aliases.${alias}: there is no model ${id}`)
    if (models.some(model => model.id === alias)) faults.push(`aliases.${alias}: is the name of a model`)
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return { models, channels, aliases }
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

function duplicates(values: readonly string[], list: string, field: string): string[] {
  return values.flatMap((value, place) =>
    values.indexOf(value) < place ? [`${list}[${place}].${field}: ${value} is there twice`] : [],
  )
}

function toModel(entry: ModelEntry): Model {
  const { input, output, cache_read = input, cache_write = input } = entry.price
  return {
    id: entry.id,
    name: entry.name ?? entry.id.slice(entry.id.indexOf('/') + 1),
    description: entry.description ?? '',
    price: {
      input: pricePerMillion(input),
      output: pricePerMillion(output),
      cacheRead: pricePerMillion(cache_read),
      cacheWrite: pricePerMillion(cache_write),
    },
    contextLength: entry.context_length,
    maxOutputTokens: entry.max_output_tokens,
    images: entry.images,
    recommended: entry.recommended,
    reasoning: entry.reasoning,
  }
}

function toChannel(entry: ChannelEntry, place: Place & { readonly models: readonly Model[] }): Channel {
  const { env, faults, models, path } = place
  const preset = findPreset(entry, faults, path)
  if (!preset && entry.vendor === undefined) {
    if (!entry.protocol) faults.push(`${path}.protocol: is required (or name a vendor)`)
    if (!entry.base_url) faults.push(`${path}.base_url: is required (or name a vendor)`)
  }
  const { connect, first_byte, idle } = entry.timeout
  return {
    name: entry.name,
    protocol: entry.protocol ?? preset?.protocol ?? 'chat',
    baseUrl: (entry.base_url ?? preset?.baseUrl ?? '').replace(/\/+$/, ''),
    apiKeys: readKeys(entry, preset, { env, faults, path }),
    models: readModels(entry, preset, { faults, path, models }),
    priority: entry.priority,
    weight: entry.weight,
    groups: entry.groups,
    timeouts: {
      connectMs: connect ?? DEFAULT_TIMEOUTS.connectMs,
      firstByteMs: first_byte ?? DEFAULT_TIMEOUTS.firstByteMs,
      idleMs: idle ?? DEFAULT_TIMEOUTS.idleMs,
    },
    maxTokensField: preset?.maxTokensField ?? 'max_tokens',
    withheld: preset?.withheld ?? [],
    replyHeaders: {},
  }
}

function findPreset(entry: ChannelEntry, faults: string[], path: string): Preset | undefined {
  if (entry.vendor === undefined) return undefined
  const preset = Object.hasOwn(PRESETS, entry.vendor) ? PRESETS[entry.vendor] : undefined
  if (!preset) faults.push(`${path}.vendor: must be one of ${Object.keys(PRESETS).join(', ')}`)
  return preset
}

function readKeys(entry: ChannelEntry, preset: Preset | undefined, { env, faults, path }: Place): string[] {
  if (entry.api_key && entry.api_keys) faults.push(`${path}: give api_key or api_keys, not both`)
  const given = entry.api_keys ?? (entry.api_key ? [entry.api_key] : [])
  if (given.length > 0 || !preset || preset.keyless) return given
  const known = preset.variables.map(name => env[name]).find(Boolean)
  if (known) return [known]
  faults.push(`${path}.api_key: is required (or set ${preset.variables.join(' or ')})`)
  return []
}

function readModels(
  entry: ChannelEntry,
  preset: Preset | undefined,
  { faults, path, models }: { faults: string[]; path: string; models: readonly Model[] },
): ReadonlyMap<string, string> {
  if (!entry.models) {
    const served = preset ? presetModels(preset, models) : new Map<string, string>()
    if (served.size === 0) faults.push(`${path}.models: is required`)
    return served
  }
  const pairs = Array.isArray(entry.models) ? entry.models.map(id => [id, id] as const) : Object.entries(entry.models)
  for (const [id] of pairs) {
    if (!models.some(model => model.id === id)) faults.push(`${path}.models: there is no model ${id}`)
  }
  return new Map(pairs)
}
