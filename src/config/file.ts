import { BUILTIN_MODELS } from './builtin.ts'
import { crossFaults } from './cross.ts'
import { describe } from './describe.ts'
import { ConfigError } from './faults.ts'
import { PRESETS } from './presets.ts'
import { type ChannelEntry, FILE, type ModelEntry } from './schema.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What a configuration says about models and upstreams, before anybody adds to it. */
export interface Definitions {
  /** Undefined where the built-in ones serve. */
  readonly models: readonly ModelEntry[] | undefined
  /** With the keys that they use. */
  readonly channels: readonly ChannelEntry[]
  readonly aliases: ReadonlyMap<string, string>
}

/** Reads `duet.yaml`; throws a `ConfigError` with every fault and its path. */
export function readCatalogFile(text: string, env: Environment): Definitions {
  const faults: string[] = []
  const raw = substitute(parseYaml(text) ?? {}, { env, faults, path: '' })
  const file = FILE.safeParse(raw)
  if (!file.success) faults.push(...file.error.issues.flatMap(issue => describe(issue)))
  faults.push(
    ...crossFaults(
      raw,
      BUILTIN_MODELS.map(({ id }) => id),
      env,
    ),
  )
  if (!file.success || faults.length > 0) throw new ConfigError(faults)
  return {
    models: file.data.models,
    channels: (file.data.channels ?? []).map(entry => ({ ...entry, api_keys: keysOf(entry, env) })),
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

function keysOf({ vendor, api_key, api_keys }: ChannelEntry, env: Environment): string[] {
  const given = api_keys ?? (api_key === undefined ? [] : [api_key])
  const preset = vendor === undefined ? undefined : PRESETS[vendor]
  const known = preset?.variables.map(name => env[name]).find(Boolean)
  return given.length > 0 || known === undefined ? given : [known]
}
