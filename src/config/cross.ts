import { isObject, type JsonObject } from '../core/ask.ts'
import { PRESETS, type Preset, presetModels } from './presets.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Faults between the parts of a file: names that lead nowhere, names that are there twice, what one part needs of
 * another. They are looked for in the raw file, whatever its shape, so that they are listed together with faults of shape.
 */
export function crossFaults(file: unknown, builtinIds: readonly string[], env: Environment): string[] {
  if (!isObject(file)) return []
  const models = listOf(file.models)
  const ids = file.models === undefined ? builtinIds : models.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
  const channels = listOf(file.channels)
  return [
    ...repeated(models, 'models', 'id'),
    ...repeated(channels, 'channels', 'name'),
    ...channels.flatMap((channel, place) => {
      const here = { path: `channels[${place}]`, ids, env }
      return [...definitionFaults(channel, here), ...modelFaults(channel, here)]
    }),
    ...aliasFaults(file.aliases, ids),
  ]
}

export interface Place {
  readonly path: string
  readonly ids: readonly string[]
  /** Where a key may come from that is not given; undefined where it must be given. */
  readonly env: Environment | undefined
}

/** What makes a channel impossible, whatever the catalog. */
export function definitionFaults(channel: JsonObject, place: Place): string[] {
  const { path } = place
  const { vendor, api_key: key, api_keys: keys } = channel
  const faults: string[] = []
  const preset = presetOf(channel)
  if (vendor !== undefined && !preset) faults.push(`${path}.vendor: must be one of ${Object.keys(PRESETS).join(', ')}`)
  for (const field of vendor === undefined ? ['protocol', 'base_url'] : []) {
    if (channel[field] === undefined) faults.push(`${path}.${field}: is required (or name a vendor)`)
  }
  if (key !== undefined && keys !== undefined) faults.push(`${path}: give api_key or api_keys, not both`)
  if (preset && key === undefined && keys === undefined) faults.push(...keyFaults(preset, place))
  return faults
}

const presetOf = ({ vendor }: JsonObject): Preset | undefined =>
  typeof vendor === 'string' && Object.hasOwn(PRESETS, vendor) ? PRESETS[vendor] : undefined

function keyFaults({ variables, keyless }: Preset, { path, env }: Place): string[] {
  if (keyless || variables.some(name => env?.[name])) return []
  return [`${path}.api_key: is required${env ? ` (or set ${variables.join(' or ')})` : ''}`]
}

/** Models of a channel that the catalog does not have. */
export function modelFaults(channel: JsonObject, { path, ids }: Place): string[] {
  const { models } = channel
  if (models === undefined) {
    const preset = presetOf(channel)
    const served = preset ? presetModels(preset, ids).size : 0
    return served > 0 ? [] : [`${path}.models: is required`]
  }
  const named: unknown[] = Array.isArray(models) ? models : isObject(models) ? Object.keys(models) : []
  return named.flatMap(id =>
    typeof id === 'string' && !ids.includes(id) ? [`${path}.models: there is no model ${id}`] : [],
  )
}

function aliasFaults(aliases: unknown, ids: readonly string[]): string[] {
  return Object.entries(isObject(aliases) ? aliases : {}).flatMap(([alias, id]) => [
    ...(typeof id === 'string' && !ids.includes(id) ? [`aliases.${alias}: there is no model ${id}`] : []),
    ...(ids.includes(alias) ? [`aliases.${alias}: is the name of a model`] : []),
  ])
}

function repeated(entries: readonly JsonObject[], list: string, field: string): string[] {
  const values = entries.map(entry => entry[field])
  return values.flatMap((value, place) =>
    typeof value === 'string' && values.indexOf(value) < place
      ? [`${list}[${place}].${field}: ${value} is there twice`]
      : [],
  )
}

const listOf = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.map(entry => (isObject(entry) ? entry : {})) : []
