import type { JsonObject } from '../core/ask.ts'
import type { ManagedModel, Pause } from '../core/managed.ts'
import { BUILTIN_MODELS } from './builtin.ts'
import { definitionFaults, modelFaults } from './cross.ts'
import { describe } from './describe.ts'
import type { Definitions } from './file.ts'
import { CHANNEL, type ChannelEntry, CONSOLE_MODEL, type ConsoleModelEntry } from './schema.ts'

/** A credential of a channel that the console defines, as far as it can be opened. */
export interface OpenedKey {
  readonly id: string
  readonly hint: string
  readonly secret: string | undefined
  /** Undefined for one that has just been given. */
  readonly sealed: string | undefined
}

export interface OpenedChannel {
  readonly name: string
  readonly settings: JsonObject
  readonly keys: readonly OpenedKey[]
}

/** What the console defines, with its credentials opened. */
export interface Opened {
  readonly models: readonly ManagedModel[]
  readonly channels: readonly OpenedChannel[]
  readonly pauses: readonly Pause[]
}

/** What of it can be used, and everything that is wrong with it. */
export interface ReadManaged {
  readonly models: readonly ConsoleModelEntry[]
  readonly channels: readonly { readonly entry: ChannelEntry; readonly keys: readonly OpenedKey[] }[]
  readonly faults: readonly string[]
}

/** Enough for anyone; a limit, because each of them is read with every change. */
const MODELS_MAX = 2_000
const CHANNELS_MAX = 500
const KEYS_MAX = 50
const SETTINGS_CHARACTERS_MAX = 100_000

const BUILTIN = new Map(BUILTIN_MODELS.map(entry => [entry.id, entry]))

/**
 * Reads what the console defines by the rules of the file: the same words, the same faults. A file may change under what was
 * right when it was stored, so faults do not stop a start: a model that is gone is left out of a channel, a row that
 * says nothing sensible any more is left out whole.
 */
export function readManaged({ models, channels }: Opened, file: Definitions): ReadManaged {
  const faults: string[] = []
  if (models.length > MODELS_MAX) faults.push(`models: there may be at most ${MODELS_MAX}`)
  if (channels.length > CHANNELS_MAX) faults.push(`channels: there may be at most ${CHANNELS_MAX}`)
  const entries = models.flatMap(model => readModel(model, file, faults))
  const ids = [...(file.models ?? BUILTIN_MODELS), ...entries].map(({ id }) => id)
  return { models: entries, channels: channels.flatMap(channel => readChannel(channel, ids, faults)), faults }
}

function readModel({ id, settings }: ManagedModel, { aliases }: Definitions, faults: string[]): ConsoleModelEntry[] {
  const path = `models.${id}`
  faults.push(...sizeFaults(settings, path))
  if (!id.isWellFormed()) faults.push(`${path}.id: must be valid Unicode text`)
  if (aliases.has(id)) faults.push(`${path}.id: is the name of an alias`)
  // What is not said of a built-in model is as it is built in.
  const model = CONSOLE_MODEL.safeParse({ ...BUILTIN.get(id), ...settings, id })
  if (!model.success) faults.push(...model.error.issues.flatMap(issue => describe(issue, path)))
  return model.success ? [model.data] : []
}

function readChannel({ name, settings, keys }: OpenedChannel, ids: readonly string[], faults: string[]) {
  const path = `channels.${name}`
  const raw: JsonObject = { ...settings, name, ...(keys.length > 0 ? { api_keys: keys.map(secretOf) } : {}) }
  faults.push(...sizeFaults(settings, path))
  if (keys.length > KEYS_MAX) faults.push(`${path}.api_keys: there may be at most ${KEYS_MAX}`)
  const channel = CHANNEL.safeParse(raw)
  if (!channel.success) faults.push(...channel.error.issues.flatMap(issue => describe(issue, path)))
  const place = { path, ids, env: undefined }
  const impossible = definitionFaults(raw, place)
  faults.push(...impossible, ...modelFaults(raw, place))
  if (!channel.success || impossible.length > 0) return []
  return [{ entry: withKnownModels(channel.data, ids), keys }]
}

/** Stands for a key that cannot be opened: it is there, and that is all the rules ask. */
const secretOf = ({ secret }: OpenedKey): string => secret ?? 'sealed'

function sizeFaults(settings: JsonObject, path: string): string[] {
  const isTooLong = JSON.stringify(settings).length > SETTINGS_CHARACTERS_MAX
  return isTooLong ? [`${path}: must have at most ${SETTINGS_CHARACTERS_MAX} characters`] : []
}

function withKnownModels(entry: ChannelEntry, ids: readonly string[]): ChannelEntry {
  const { models } = entry
  if (models === undefined) return entry
  if (Array.isArray(models)) return { ...entry, models: models.filter(id => ids.includes(id)) }
  return { ...entry, models: Object.fromEntries(Object.entries(models).filter(([id]) => ids.includes(id))) }
}
