import type { Channel, Model, VendorKey } from '../core/catalog.ts'
import type { Pause } from '../core/managed.ts'
import { vendorKeyHint, vendorKeyId } from '../core/vendor-key.ts'
import { toChannel, toModel, withPauses } from './build.ts'
import { BUILTIN_MODELS } from './builtin.ts'
import type { LoadedCatalog } from './config.ts'
import type { ReadManaged } from './managed.ts'

/** Everything there is, each with who defines it. */
export interface LayeredCatalog {
  readonly models: readonly Model[]
  /** Empty where the sandbox has to serve. */
  readonly channels: readonly Channel[]
  readonly aliases: ReadonlyMap<string, string>
}

interface Console extends Pick<ReadManaged, 'models' | 'channels'> {
  readonly pauses: readonly Pause[]
}

const NOTHING: Console = { models: [], channels: [], pauses: [] }

/** What is built in, then the console, then the file or the variables: of two that define the same, the later wins. */
export function layCatalog(loaded: LoadedCatalog, console: Console = NOTHING): LayeredCatalog {
  const models = layModels(loaded, console)
  const ids = models.map(({ id }) => id)
  return {
    models,
    channels: layChannels(loaded, console, ids).map(channel => withPauses(channel, console.pauses)),
    aliases: loaded.aliases,
  }
}

function layModels({ models: file }: LoadedCatalog, { models: own }: Console): Model[] {
  const beneath = file ?? BUILTIN_MODELS
  const ownById = new Map(own.map(entry => [entry.id, entry]))
  const known = new Set(beneath.map(({ id }) => id))
  const laid = beneath.map(entry => {
    const mine = ownById.get(entry.id)
    if (file) return toModel(entry, { origin: 'file', enabled: true, hides: mine && 'console' })
    if (!mine) return toModel(entry, { origin: 'builtin', enabled: true, hides: undefined })
    return toModel(mine, { origin: 'console', enabled: mine.enabled, hides: 'builtin' })
  })
  const added = own.filter(({ id }) => !known.has(id))
  return [
    ...laid,
    ...added.map(entry => toModel(entry, { origin: 'console', enabled: entry.enabled, hides: undefined })),
  ]
}

function layChannels({ channels: file, origin }: LoadedCatalog, { channels: own }: Console, ids: string[]): Channel[] {
  const ownNames = new Set(own.map(({ entry }) => entry.name))
  const fileNames = new Set(file.map(({ name }) => name))
  const visible = own.filter(({ entry }) => !fileNames.has(entry.name))
  return [
    ...file.map(entry =>
      toChannel(entry, { origin, hidesConsole: ownNames.has(entry.name), ids, keys: keysOf(entry.api_keys ?? []) }),
    ),
    ...visible.map(({ entry, keys }) =>
      toChannel(entry, {
        ...{ origin: 'console', hidesConsole: false, ids },
        keys: keys.map(({ id, hint, secret }) => ({ id, hint, secret })),
      }),
    ),
  ]
}

/** A key that is there twice is one key. */
const keysOf = (secrets: readonly string[]): Omit<VendorKey, 'isPaused'>[] =>
  [...new Set(secrets)].map(secret => ({ id: vendorKeyId(secret), hint: vendorKeyHint(secret), secret }))
