import { withPauses } from './config/build.ts'
import type { Step } from './config/changes.ts'
import type { CatalogSource, LoadedCatalog } from './config/config.ts'
import { layCatalog } from './config/layers.ts'
import type { Opened, OpenedChannel, ReadManaged } from './config/managed.ts'
import type { Channel } from './core/catalog.ts'
import {
  type CatalogChange,
  type CatalogEditor,
  ChangeRefused,
  type Managed,
  type ManagedChannel,
} from './core/managed.ts'
import type { Replicas } from './core/replicas.ts'
import type { Sealer } from './core/seal.ts'
import type { Store } from './core/store.ts'
import { Catalog } from './routing/catalog.ts'
import type { SandboxChannels } from './setup/sandbox-channels.ts'
import type { Log } from './telemetry/log.ts'

export interface LiveCatalogDeps {
  readonly source: CatalogSource
  readonly store: Pick<Store, 'managed' | 'prices'>
  readonly sealer: Sealer
  readonly sandbox: SandboxChannels
  /** Those who remember what became of calls, and must forget what is not there any more. */
  readonly upstreams: readonly Follower[]
  readonly log: Log
  readonly clock: () => number
  /** Set where others may change the catalog as well. */
  readonly replicas?: Pick<Replicas, 'alone'> | undefined
}

interface Follower {
  follow(before: readonly Channel[], after: readonly Channel[]): void
}

interface Snapshot {
  readonly loaded: LoadedCatalog
  readonly stored: Managed
  readonly opened: Opened
  /** The same for everyone to see. */
  readonly managed: CatalogEditor['managed']
  readonly catalog: Catalog
  /** Of what the console defines. */
  readonly faults: readonly string[]
}

/**
 * The catalog of this moment. Every change goes to the store first and then makes a new snapshot, which replaces the old one
 * whole; a change that would make a faulty catalog is refused before anything is stored. The file is this replica's own; what
 * is stored is everybody's.
 */
export class LiveCatalog implements CatalogEditor {
  private readonly deps: LiveCatalogDeps
  private snapshot: Snapshot
  /** Changes are made one after the other: each is checked against what the one before has left. */
  private last: Promise<unknown> = Promise.resolve()

  private constructor(deps: LiveCatalogDeps, snapshot: Snapshot) {
    this.deps = deps
    this.snapshot = snapshot
  }

  static async open(deps: LiveCatalogDeps, loaded: LoadedCatalog): Promise<LiveCatalog> {
    const snapshot = await build(loaded, deps)
    tellFaults(snapshot, deps.log)
    return new LiveCatalog(deps, snapshot)
  }

  get current(): Catalog {
    return this.snapshot.catalog
  }

  get notes(): readonly string[] {
    return this.snapshot.loaded.notes
  }

  /** What the console defines of a model or a channel, in the words of the file; credentials are not in it. */
  get managed(): CatalogEditor['managed'] {
    return this.snapshot.managed
  }

  /** Reads the file again; a faulty one is refused whole and the last good one stays. */
  reload(): Promise<Catalog> {
    return this.inTurn(async () => {
      await this.swap(await this.deps.source.load())
      const { models, channels } = this.current
      this.deps.log.info('configuration read again', { models: models.size, channels: channels.length })
      tellFaults(this.snapshot, this.deps.log)
      return this.current
    })
  }

  /** Reads what is stored again: another replica may have changed it. */
  refresh(): Promise<void> {
    return this.inTurn(() => this.catchUp())
  }

  /** Throws a `ChangeRefused` where nothing was changed. */
  change(change: CatalogChange): Promise<Catalog> {
    const { replicas } = this.deps
    return this.inTurn(() => (replicas ? replicas.alone('catalog', () => this.make(change)) : this.make(change)))
  }

  private async make(change: CatalogChange): Promise<Catalog> {
    const { stepFor, afterStep } = await import('./config/changes.ts')
    const { readManaged } = await import('./config/managed.ts')
    // A step is made from what there is, and must not take back what another replica has just added to it.
    if (this.deps.replicas) await this.catchUp()
    const { opened, loaded, catalog, faults } = this.snapshot
    const step = stepFor(change, { opened, catalog: { models: catalog.allModels, channels: catalog.channels } })
    const after = readManaged(afterStep(opened, step), loaded)
    // Faults that a change of the file has made are no reason to refuse what has nothing to do with them.
    const added = after.faults.filter(fault => !faults.includes(fault))
    if (added.length > 0) {
      throw new ChangeRefused({ reason: 'invalid', faults: added.map(fault => withoutPlace(fault, change)) })
    }
    await this.store(step)
    await this.swap(loaded)
    this.deps.log.info('catalog changed', logged(change))
    return this.current
  }

  private async catchUp(): Promise<void> {
    const { loaded, stored } = this.snapshot
    const isSame = Bun.deepEquals(stored, await this.deps.store.managed.managed())
    if (isSame) return
    await this.swap(loaded)
    this.deps.log.info('catalog changed by another replica')
    tellFaults(this.snapshot, this.deps.log)
  }

  private async store(step: Step): Promise<void> {
    const { store, sealer, clock } = this.deps
    switch (step.type) {
      case 'put-model':
        return store.managed.putModel(step.model, clock())
      case 'remove-model':
        return store.managed.removeModel(step.id)
      case 'put-channel':
        return store.managed.putChannel(sealed(step.channel, sealer), clock())
      case 'remove-channel':
        return store.managed.removeChannel(step.name)
      case 'set-paused':
        return store.managed.setPaused(step.pause, step.isPaused, clock())
      case 'nothing':
        return
    }
  }

  private async swap(loaded: LoadedCatalog): Promise<void> {
    const before = this.current
    this.snapshot = await build(loaded, this.deps)
    for (const follower of this.deps.upstreams) follower.follow(before.channels, this.current.channels)
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.last.then(work)
    this.last = result.catch(() => {})
    return result
  }
}

/** A new snapshot. Prices that changed get a new version first, so that every charge can name the one it was made with. */
async function build(loaded: LoadedCatalog, deps: LiveCatalogDeps): Promise<Snapshot> {
  const { store, sealer, sandbox, clock } = deps
  const stored = await store.managed.managed()
  const { models: rows, channels: sealedChannels, pauses } = stored
  const opened: Opened = { models: rows, channels: sealedChannels.map(channel => open(channel, sealer)), pauses }
  const own = await read(opened, loaded)
  const { models, channels, aliases } = layCatalog(loaded, { ...own, pauses })
  const priced = models.flatMap(({ id, price }) => (price ? [{ model: id, price }] : []))
  const prices = await store.prices.publish(priced, clock())
  const isServed = channels.length > 0
  const sandboxed = isServed ? [] : await sandbox.channels(models.filter(({ enabled }) => enabled))
  const catalog = new Catalog({
    models,
    aliases,
    prices,
    channels: isServed ? channels : sandboxed.map(channel => withPauses(channel, pauses)),
  })
  const managed = { models: rows, channels: sealedChannels.map(({ name, settings }) => ({ name, settings })) }
  return { loaded, stored, opened, managed, catalog, faults: own.faults }
}

/** The schema library is loaded only where there is something to check. */
async function read(opened: Opened, loaded: LoadedCatalog): Promise<ReadManaged> {
  if (opened.models.length + opened.channels.length === 0) return { models: [], channels: [], faults: [] }
  const { readManaged } = await import('./config/managed.ts')
  return readManaged(opened, loaded)
}

function open({ name, settings, keys }: ManagedChannel, sealer: Sealer): OpenedChannel {
  return { name, settings, keys: keys.map(key => ({ ...key, secret: openedOrNothing(key.sealed, sealer) })) }
}

/** What was sealed with another secret is there, and of no use. */
function openedOrNothing(sealed: string, sealer: Sealer): string | undefined {
  try {
    return sealer.open(sealed)
  } catch {
    return undefined
  }
}

/** Keys among the settings would have been refused as faulty; even so, none is ever written in clear. */
const sealed = ({ name, settings: { api_key, api_keys, ...settings }, keys }: OpenedChannel, sealer: Sealer) => ({
  name,
  settings,
  keys: keys.flatMap(({ id, hint, secret, sealed }) => {
    const text = sealed ?? (secret === undefined ? undefined : sealer.seal(secret))
    return text === undefined ? [] : [{ id, hint, sealed: text }]
  }),
})

function logged(change: CatalogChange): Readonly<Record<string, string>> {
  const isResumed = change.type === 'pause' && !change.isPaused
  return {
    change: isResumed ? 'resume' : change.type,
    of: 'id' in change ? change.id : change.name,
    ...('keyId' in change && change.keyId !== undefined ? { key: change.keyId } : {}),
  }
}

/** Who changes one thing need not be told which. */
function withoutPlace(fault: string, change: CatalogChange): string {
  const place = 'id' in change ? `models.${change.id}.` : `channels.${change.name}.`
  return fault.startsWith(place) ? fault.slice(place.length) : fault
}

function tellFaults({ faults, opened, catalog }: Snapshot, log: Log): void {
  if (faults.length > 0) log.error('what the console defines does not fit the configuration', { faults })
  for (const { name, keys } of opened.channels) {
    const lost = keys.filter(({ secret }) => secret === undefined).map(({ id }) => id)
    if (lost.length > 0)
      log.error('keys cannot be opened: they were sealed with another DUET_SECRET', { channel: name, keys: lost })
  }
  const models = catalog.allModels.filter(({ hides }) => hides === 'console').map(({ id }) => id)
  const channels = catalog.channels.filter(({ hidesConsole }) => hidesConsole).map(({ name }) => name)
  if (models.length + channels.length > 0)
    log.info('the configuration hides what the console defines under the same names', { models, channels })
}
