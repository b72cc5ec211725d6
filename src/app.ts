import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newKey } from './admin/keys.ts'
import type { Config, LoadedCatalog } from './config/config.ts'
import type { Channel, Model } from './core/catalog.ts'
import { newApiKey, newSecret } from './core/ids.ts'
import { parseDollars } from './core/money.ts'
import type { Store } from './core/ports.ts'
import { hashSecret } from './gateway/authenticate.ts'
import { Flights } from './gateway/flights.ts'
import { listen } from './http/server.ts'
import { Ledger } from './ledger/ledger.ts'
import { Catalog } from './routing/catalog.ts'
import { SqliteStore } from './store/sqlite.ts'
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
const FIRST_BALANCE = '100'

/** The only place that wires parts together. */
export async function startApp(config: Config, write: (text: string) => void): Promise<App> {
  const clock = Date.now
  const loaded = await config.catalog.load()
  mkdirSync(config.dataFolder, { recursive: true, mode: 0o700 })
  const store = openStore(config)
  const log = createLog(write, clock)
  const ledger = new Ledger(store)
  const abandoned = await store.releaseAbandoned(clock())
  if (abandoned > 0) log.info('released holds of an interrupted run', { holds: abandoned })

  const { adminToken, adminTokenPath } = findAdminToken(config)
  const sandbox = new SandboxChannels()
  let catalog = await buildCatalog(loaded, sandbox)

  const flights = new Flights()
  const listening = listen(config, {
    gateway: { keys: store, ledger, flights, clock, catalog: () => catalog },
    admin: { directory: store, ledger, clock, hashSecret, adminToken, catalog: () => catalog },
    log,
    metrics: new Metrics(VERSION),
  })

  // After the port is ours: a start that fails must not leave an account behind whose key nobody has seen.
  const firstKey = await createFirstAccount(store, ledger, config, clock)

  return {
    url: listening.url,
    catalog,
    notes: loaded.notes,
    firstKey,
    adminTokenPath,
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
  const path = join(dataFolder, 'duet.db')
  try {
    return new SqliteStore({ path, durability })
  } catch (error) {
    if (!String(error).includes('database is locked')) throw error
    throw new Error(`another Duet is using ${path}; stop it, or choose another folder with DUET_DATA`)
  }
}

/** The account and the key of the very first start; undefined on every later one. */
async function createFirstAccount(
  store: Store,
  ledger: Ledger,
  config: Config,
  clock: () => number,
): Promise<string | undefined> {
  const account = await store.createAccount({ id: 'default', name: 'default', group: 'default', createdAt: clock() })
  if (!account) return undefined
  const amount = parseDollars(FIRST_BALANCE)
  if (amount === undefined) throw new Error('the first balance is not an amount')
  await ledger.topUp({ accountId: account.id, amount, source: 'opening', note: 'opening balance', at: clock() })
  const secret = config.bootstrapKey ?? newApiKey()
  await store.createKey(newKey({ accountId: account.id, name: 'first key', secret, hashSecret, at: clock() }))
  return secret
}

/** From the environment, or from a file that only the owner can read. */
function findAdminToken(config: Config): { adminToken: string; adminTokenPath: string | undefined } {
  if (config.adminToken) return { adminToken: config.adminToken, adminTokenPath: undefined }
  const path = join(config.dataFolder, 'admin-token')
  if (!existsSync(path)) writeFileSync(path, `duet-admin-${newSecret()}\n`, { mode: 0o600 })
  chmodSync(path, 0o600)
  return { adminToken: readFileSync(path, 'utf8').trim(), adminTokenPath: path }
}

async function buildCatalog(loaded: LoadedCatalog, sandbox: SandboxChannels): Promise<Catalog> {
  const { models, aliases } = loaded
  const channels = loaded.channels.length > 0 ? loaded.channels : await sandbox.channels(models)
  return new Catalog({ models, channels, aliases })
}

/** The built-in upstream, started the first time that no real channel is configured. */
class SandboxChannels {
  private running: { readonly url: string; stop(): Promise<void> } | undefined
  private reasoning = new Set<string>()

  /** Every other model speaks the other dialect upstream, so that all four pairs are in use from the start. */
  async channels(models: readonly Model[]): Promise<Channel[]> {
    this.reasoning = new Set(models.filter(({ reasoning }) => reasoning).map(({ id }) => id))
    if (!this.running) {
      const { startSandbox } = await import('./sandbox/sandbox.ts')
      this.running = startSandbox({ reasons: model => this.reasoning.has(model) })
    }
    const { url } = this.running
    const half = (rest: number) => models.filter((_, place) => place % 2 === rest)
    return [sandboxChannel('chat', url, half(0)), sandboxChannel('messages', url, half(1))]
  }

  async stop(): Promise<void> {
    await this.running?.stop()
  }
}

const sandboxChannel = (protocol: Channel['protocol'], baseUrl: string, models: readonly Model[]): Channel => ({
  name: `sandbox-${protocol}`,
  protocol,
  baseUrl,
  apiKeys: [],
  models: new Map(models.map(({ id }) => [id, id])),
  priority: 0,
  weight: 1,
  groups: ['default'],
  timeouts: { connectMs: 5_000, firstByteMs: 60_000, idleMs: 60_000 },
  maxTokensField: 'max_tokens',
  withheld: [],
  replyHeaders: { 'x-duet-sandbox': 'true' },
})
