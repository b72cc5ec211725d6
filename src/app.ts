import type { Config, LoadedCatalog } from './config/config.ts'
import type { Channel, Model } from './core/catalog.ts'
import { newHex } from './core/ids.ts'
import type { Store } from './core/store.ts'
import { Flights } from './gateway/flights.ts'
import { probeChannel } from './gateway/probe.ts'
import { listen } from './http/server.ts'
import { Ledger, TEND_MS } from './ledger/ledger.ts'
import { openStore } from './open-store.ts'
import { Catalog } from './routing/catalog.ts'
import { findAdminToken } from './setup/admin-token.ts'
import { createFirstAccount } from './setup/first-account.ts'
import { SandboxChannels } from './setup/sandbox-channels.ts'
import { createLog } from './telemetry/log.ts'
import { Metrics } from './telemetry/metrics.ts'
import { VERSION } from './version.ts'

/** A running Duet. */
export interface App {
  readonly url: string
  readonly catalog: Catalog
  readonly notes: readonly string[]
  /** Set on the first start only: the one time the first key is shown. */
  readonly firstKey: string | undefined
  readonly adminTokenPath: string | undefined
  readonly isSandbox: boolean
  /** Reads models and channels again; a faulty file is refused whole and the last good one stays. */
  reload(): Promise<void>
  /** False if something could not be written. */
  stop(): Promise<boolean>
}

const DRAIN_MS_MAX = 30_000

/** The only place that wires parts together. */
export async function startApp(config: Config, write: (text: string) => void): Promise<App> {
  const clock = Date.now
  const loaded = await config.catalog.load()
  const store = openStore(config)
  const log = createLog(write, clock)
  const { directory, records, audit } = store
  const ledger = new Ledger(store.ledger, { owner: newHex(8), clock })
  const abandoned = await ledger.recover()
  if (abandoned > 0) log.info('released holds of an interrupted run', { holds: abandoned })

  const admin = findAdminToken(config.adminToken, config.dataFolder)
  const sandbox = new SandboxChannels()
  const build = (parts: LoadedCatalog) => buildCatalog(parts, { sandbox, store, clock })
  let catalog = await build(loaded)

  const flights = new Flights()
  const probe = (channel: Channel, model: Model) => probeChannel(channel, model, clock)
  const listening = listen(config, {
    gateway: { keys: directory, ledger, flights, clock, catalog: () => catalog },
    admin: { directory, ledger, records, audit, clock, adminToken: admin.token, catalog: () => catalog, probe },
    log,
    metrics: new Metrics(VERSION),
  })

  // After the port is ours: a start that fails must not leave an account behind whose key nobody has seen.
  const firstKey = await createFirstAccount(config.bootstrapKey, { directory, ledger, records, clock })

  const tend = async () => {
    const { overdue, recovered } = await ledger.tend()
    if (overdue > 0) log.error('settlements wait to be written', { settlements: overdue })
    if (recovered > 0) log.error('released holds that belonged to no call', { holds: recovered })
    await directory.keepLastUsed()
  }
  const tendOrTell = () => tend().catch(error => log.error('the ledger cannot be written', { error }))
  const tending = setInterval(tendOrTell, TEND_MS)

  return {
    url: listening.url,
    catalog,
    notes: loaded.notes,
    firstKey,
    adminTokenPath: admin.path,
    isSandbox: loaded.channels.length === 0,
    async reload() {
      catalog = await build(await config.catalog.load())
      log.info('configuration read again', { models: catalog.models.size, channels: catalog.channels.length })
    },
    async stop() {
      await listening.drain(DRAIN_MS_MAX, () => flights.cut())
      clearInterval(tending)
      const unwritten = await ledger.drain()
      await directory.keepLastUsed().catch(error => log.error('the last use of keys is lost', { error }))
      await sandbox.stop()
      store.close()
      // Their holds stay: the next start releases them as interrupted.
      if (unwritten > 0) log.error('settlements could not be written', { settlements: unwritten })
      log.flush()
      return unwritten === 0
    },
  }
}

interface CatalogDeps {
  readonly sandbox: SandboxChannels
  readonly store: Store
  readonly clock: () => number
}

/** A new snapshot. Prices that changed get a new version first, so that every charge can name the one it was made with. */
async function buildCatalog(parts: LoadedCatalog, { sandbox, store, clock }: CatalogDeps): Promise<Catalog> {
  const { models, channels, aliases } = parts
  const priced = models.flatMap(({ id, price }) => (price ? [{ model: id, price }] : []))
  const prices = await store.prices.publish(priced, clock())
  return new Catalog({
    models,
    aliases,
    prices,
    channels: channels.length > 0 ? channels : await sandbox.channels(models),
  })
}
