import { accessSync, constants, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config/config.ts'
import { type Store, StoreUnavailable } from './core/store.ts'
import { openSqlite } from './store/sqlite/open.ts'

export const databasePath = (dataFolder: string): string => join(dataFolder, 'duet.db')

type StoreConfig = Pick<Config, 'dataFolder' | 'durability'> & Partial<Pick<Config, 'databaseUrl' | 'retentionMonths'>>

/** Containers are started together, and a database takes its time: longer than this is no start any more. */
const PATIENCE_MS = 60_000
const PAUSE_MS = 1_000

/** The one place that knows which stores there are. `tellWaiting` is called once if the database is not there yet. */
export async function openStore(
  config: StoreConfig,
  tellWaiting: (seconds: number) => void = () => {},
): Promise<Store> {
  const { databaseUrl, retentionMonths } = config
  if (databaseUrl === undefined) return openEmbedded(config)
  // Loaded only where it is used: a start on the embedded database does not wait for it.
  const { openPostgres } = await import('./store/postgres/open.ts')
  try {
    return await whenThere(() => openPostgres({ url: databaseUrl, retentionMonths }), tellWaiting)
  } catch (error) {
    const isServers = error instanceof Error && error.name === 'PostgresError'
    throw isServers ? new Error(`the database of DUET_DATABASE_URL says: ${error.message}`) : error
  }
}

function openEmbedded({ dataFolder, durability }: StoreConfig): Store {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const path = databasePath(dataFolder)
  try {
    return openSqlite({ path, durability })
  } catch (error) {
    if (String(error).includes('database is locked')) {
      throw new Error(`another Duet is using ${path}; stop it, or choose another folder with DUET_DATA`)
    }
    // The database's own words would be of a faulty disk.
    const forbidden = [dataFolder, path, `${path}-wal`, `${path}-shm`].find(isForbidden)
    if (forbidden === undefined) throw error
    throw new Error(
      `${forbidden} must be readable and writable: give it to the user that Duet runs as, or choose another folder with DUET_DATA`,
    )
  }
}

function isForbidden(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return false
  } catch {
    return true
  }
}

async function whenThere(open: () => Promise<Store>, tellWaiting: (seconds: number) => void): Promise<Store> {
  const begun = performance.now()
  for (let tries = 1; ; tries++) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      if (performance.now() - begun > PATIENCE_MS) {
        throw new Error(`the database of DUET_DATABASE_URL does not answer: ${reasonOf(error)}`)
      }
    }
    if (tries === 1) tellWaiting(PATIENCE_MS / 1_000)
    await Bun.sleep(PAUSE_MS)
  }
}

/** The driver's words, which tell a closed port from a name that nobody knows. It never says the password. */
function reasonOf({ message, cause }: StoreUnavailable): string {
  return cause instanceof Error ? cause.message : message
}
