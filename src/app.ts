import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Config, LoadedCatalog } from './config/config.ts'
import type { Store } from './core/ports.ts'
import { Flights } from './gateway/flights.ts'
import { listen } from './http/server.ts'
import { Ledger } from './ledger/ledger.ts'
import { Catalog } from './routing/catalog.ts'
import { findAdminToken } from './setup/admin-token.ts'
import { createFirstAccount } from './setup/first-account.ts'
import { SandboxChannels } from './setup/sandbox-channels.ts'
import { openSqlite } from './store/sqlite.ts'
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
  stop(): Promise<void>
}

const DRAIN_MS_MAX = 30_000

/** The only place that wires parts together. */
export async function startApp(config: Config, write: (text: string) => void): Promise<App> {
  const clock = Date.now
  const loaded = await config.catalog.load()
  const store = openStore(config)
  const log = createLog(write, clock)
  const { directory } = store
  const ledger = new Ledger(store.ledger)
  const abandoned = await store.ledger.releaseAbandoned(clock())
  if (abandoned > 0) log.info('released holds of an interrupted run', { holds: abandoned })

  const admin = findAdminToken(config.adminToken, config.dataFolder)
  const sandbox = new SandboxChannels()
  let catalog = await buildCatalog(loaded, sandbox)

  const flights = new Flights()
  const listening = listen(config, {
    gateway: { keys: directory, ledger, flights, clock, catalog: () => catalog },
    admin: { directory, ledger, clock, adminToken: admin.token, catalog: () => catalog },
    log,
    metrics: new Metrics(VERSION),
  })

  // After the port is ours: a start that fails must not leave an account behind whose key nobody has seen.
  const firstKey = await createFirstAccount(config.bootstrapKey, { directory, ledger, clock })

  return {
    url: listening.url,
    catalog,
    notes: loaded.notes,
    firstKey,
    adminTokenPath: admin.path,
    isSandbox: loaded.channels.length === 0,
    async reload() {
      catalog = await buildCatalog(await config.catalog.load(), sandbox)
      log.info('configuration read again', { models: catalog.models.size, channels: catalog.channels.length })
    },
    async stop() {
      await listening.drain(DRAIN_MS_MAX, () => flights.cut())
      await ledger.drain()
      await sandbox.stop()
      store.close()
    },
  }
}

function openStore({ dataFolder, durability }: Config): Store {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const path = join(dataFolder, 'duet.db')
  try {
    return openSqlite({ path, durability })
  } catch (error) {
    if (!String(error).includes('database is locked')) throw error
    throw new Error(`another Duet is using ${path}; stop it, or choose another folder with DUET_DATA`)
  }
}

async function buildCatalog({ models, channels, aliases }: LoadedCatalog, sandbox: SandboxChannels): Promise<Catalog> {
  return new Catalog({ models, aliases, channels: channels.length > 0 ? channels : await sandbox.channels(models) })
}
