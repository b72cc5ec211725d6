import type { JsonObject } from '../core/ask.ts'
import type { Origin } from '../core/catalog.ts'
import { type CatalogChange, ChangeRefused, type ManagedModel, type Pause, type Refusal } from '../core/managed.ts'
import { vendorKeyHint, vendorKeyId } from '../core/vendor-key.ts'
import { BUILTIN_MODELS } from './builtin.ts'
import type { LayeredCatalog } from './layers.ts'
import type { Opened, OpenedChannel, OpenedKey } from './managed.ts'
import { PRESETS } from './presets.ts'
import { CHANNEL } from './schema.ts'

/** What a change comes to: one thing to store. */
export type Step =
  | { readonly type: 'put-model'; readonly model: ManagedModel }
  | { readonly type: 'remove-model'; readonly id: string }
  | { readonly type: 'put-channel'; readonly channel: OpenedChannel }
  | { readonly type: 'remove-channel'; readonly name: string }
  | { readonly type: 'set-paused'; readonly pause: Pause; readonly isPaused: boolean }
  | { readonly type: 'nothing' }

export interface Present {
  readonly opened: Opened
  /** With the sandbox's channels, where they serve. */
  readonly catalog: Pick<LayeredCatalog, 'models' | 'channels'>
}

type ChangeOf<T extends CatalogChange['type']> = Extract<CatalogChange, { type: T }>

/** What is to be stored; throws a refusal where the change makes no sense. Faults of its values are looked for later. */
export function stepFor(change: CatalogChange, present: Present): Step {
  switch (change.type) {
    case 'add-model':
      return addModel(change, present)
    case 'change-model':
      return changeModel(change, present)
    case 'remove-model':
      return removeModel(change, present)
    case 'add-channel':
      return addChannel(change, present)
    case 'change-channel':
      return changeChannel(change, present)
    case 'remove-channel':
      return { type: 'remove-channel', name: ownChannel(change.name, present).name }
    case 'add-key':
      return addKey(change, present)
    case 'remove-key':
      return removeKey(change, present)
    case 'pause':
      return pause(change, present)
  }
}

/** What the console would define then. */
export function afterStep({ models, channels, pauses }: Opened, step: Step): Opened {
  switch (step.type) {
    case 'put-model':
      return { models: put(models, step.model, ({ id }) => id), channels, pauses }
    case 'remove-model':
      return { models: models.filter(({ id }) => id !== step.id), channels, pauses }
    case 'put-channel':
      return { models, channels: put(channels, step.channel, ({ name }) => name), pauses }
    case 'remove-channel':
      return { models, channels: channels.filter(({ name }) => name !== step.name), pauses }
    case 'set-paused':
    case 'nothing':
      return { models, channels, pauses }
  }
}

function put<T>(list: readonly T[], item: T, nameOf: (item: T) => string): T[] {
  const isThere = list.some(other => nameOf(other) === nameOf(item))
  return isThere ? list.map(other => (nameOf(other) === nameOf(item) ? item : other)) : [...list, item]
}

const refused = (refusal: Refusal) => new ChangeRefused(refusal)

/** What others define is changed where they define it. */
function refuseReadOnly(what: string, origin: Origin | undefined): void {
  if (origin === 'file' || origin === 'environment' || origin === 'sandbox')
    throw refused({ reason: 'read-only', what, by: origin })
}

// ── models ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const originOfModel = (id: string, { catalog }: Present): Origin | undefined =>
  catalog.models.find(model => model.id === id)?.origin

const ownModel = (id: string, { opened }: Present): ManagedModel | undefined =>
  opened.models.find(model => model.id === id)

function addModel({ id, settings }: ChangeOf<'add-model'>, present: Present): Step {
  refuseReadOnly(`model ${id}`, originOfModel(id, present))
  if (ownModel(id, present)) throw refused({ reason: 'taken', what: `a model ${id}`, param: 'id' })
  return { type: 'put-model', model: { id, settings: withoutNulls(settings) } }
}

function changeModel({ id, settings }: ChangeOf<'change-model'>, present: Present): Step {
  refuseReadOnly(`model ${id}`, originOfModel(id, present))
  const own = ownModel(id, present)
  const isBuiltin = BUILTIN_MODELS.some(model => model.id === id)
  if (!own && originOfModel(id, present) === undefined) throw refused({ reason: 'unknown', what: `model ${id}` })
  const changed = withoutNulls({ ...own?.settings, ...settings })
  if (isBuiltin && Object.keys(changed).length === 0) return own ? { type: 'remove-model', id } : { type: 'nothing' }
  return { type: 'put-model', model: { id, settings: changed } }
}

function removeModel({ id }: ChangeOf<'remove-model'>, present: Present): Step {
  const origin = originOfModel(id, present)
  refuseReadOnly(`model ${id}`, origin)
  if (ownModel(id, present)) return { type: 'remove-model', id }
  if (origin === 'builtin') throw refused({ reason: 'read-only', what: `model ${id}`, by: 'builtin' })
  throw refused({ reason: 'unknown', what: `model ${id}` })
}

const withoutNulls = (settings: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null && value !== undefined))

// ── channels ────────────────────────────────────────────────────────────────────────────────────────────────────────

const channelNamed = (name: string, { catalog }: Present) => catalog.channels.find(channel => channel.name === name)

function ownChannel(name: string, present: Present): OpenedChannel {
  refuseReadOnly(`channel ${name}`, channelNamed(name, present)?.origin)
  const own = present.opened.channels.find(channel => channel.name === name)
  if (!own) throw refused({ reason: 'unknown', what: `channel ${name}` })
  return own
}

function addChannel({ name, settings: given }: ChangeOf<'add-channel'>, present: Present): Step {
  const origin = channelNamed(name, present)?.origin
  // The sandbox makes way for the first real channel, whatever its name.
  if (origin !== 'sandbox') refuseReadOnly(`channel ${name}`, origin)
  if (present.opened.channels.some(channel => channel.name === name))
    throw refused({ reason: 'taken', what: `a channel named ${name}`, param: 'name' })
  const { settings, keys = [] } = splitKeys(withoutNulls(given))
  return { type: 'put-channel', channel: { name, settings, keys: newKeys(keys) } }
}

function changeChannel({ name, settings: given }: ChangeOf<'change-channel'>, present: Present): Step {
  const own = ownChannel(name, present)
  const { settings: changed, keys } = splitKeys(withoutNulls({ ...own.settings, ...given }))
  // Whoever could send a stored key to an address of their own could read it.
  if (keys === undefined && own.keys.length > 0 && placeOf(changed) !== placeOf(own.settings)) {
    const fault = 'api_keys: must be given again, because they were given for another address'
    throw refused({ reason: 'invalid', faults: [fault] })
  }
  return { type: 'put-channel', channel: { name, settings: changed, keys: keys ? newKeys(keys) : own.keys } }
}

const KEYS = CHANNEL.pick({ api_key: true, api_keys: true })

/** Keys are kept apart from the settings. Faulty ones stay among them, and are refused with everything that is at fault. */
function splitKeys(given: JsonObject): { settings: JsonObject; keys: readonly string[] | undefined } {
  const { api_key, api_keys, ...settings } = given
  if (api_key === undefined && api_keys === undefined) return { settings, keys: undefined }
  const read = KEYS.safeParse({ api_key, api_keys })
  if (!read.success || (api_key !== undefined && api_keys !== undefined)) return { settings: given, keys: [] }
  return { settings, keys: read.data.api_keys ?? (read.data.api_key === undefined ? [] : [read.data.api_key]) }
}

/** Where a channel's keys are sent. */
function placeOf({ vendor, base_url }: JsonObject): string | undefined {
  const preset = typeof vendor === 'string' && Object.hasOwn(PRESETS, vendor) ? PRESETS[vendor] : undefined
  const url = base_url ?? preset?.baseUrl
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined
}

function addKey({ name, key }: ChangeOf<'add-key'>, present: Present): Step {
  const own = ownChannel(name, present)
  const [added] = newKeys([key])
  if (!added || own.keys.some(({ id, secret }) => id === added.id && secret !== undefined))
    throw refused({ reason: 'taken', what: `this key of channel ${name}`, param: 'api_key' })
  // One that could not be opened is replaced by the same key, given again.
  return { type: 'put-channel', channel: { ...own, keys: [...own.keys.filter(({ id }) => id !== added.id), added] } }
}

function removeKey({ name, keyId }: ChangeOf<'remove-key'>, present: Present): Step {
  const own = ownChannel(name, present)
  if (!own.keys.some(({ id }) => id === keyId)) throw refused({ reason: 'unknown', what: `key ${keyId}` })
  return { type: 'put-channel', channel: { ...own, keys: own.keys.filter(({ id }) => id !== keyId) } }
}

function pause({ name, keyId, isPaused }: ChangeOf<'pause'>, present: Present): Step {
  const channel = channelNamed(name, present)
  if (!channel) throw refused({ reason: 'unknown', what: `channel ${name}` })
  if (keyId !== undefined && !channel.keys.some(({ id }) => id === keyId))
    throw refused({ reason: 'unknown', what: `key ${keyId}` })
  return { type: 'set-paused', pause: { channel: name, keyId }, isPaused }
}

const newKeys = (secrets: readonly string[]): OpenedKey[] =>
  [...new Set(secrets)].map(secret => ({
    ...{ id: vendorKeyId(secret), hint: vendorKeyHint(secret) },
    ...{ secret, sealed: undefined },
  }))
