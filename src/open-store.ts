import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config/config.ts'
import type { Store } from './core/store.ts'
import { openSqlite } from './store/sqlite.ts'

export const databasePath = (dataFolder: string): string => join(dataFolder, 'duet.db')

/** The one place that knows which store there is. */
export function openStore({ dataFolder, durability }: Pick<Config, 'dataFolder' | 'durability'>): Store {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const path = databasePath(dataFolder)
  try {
    return openSqlite({ path, durability })
  } catch (error) {
    if (!String(error).includes('database is locked')) throw error
    throw new Error(`another Duet is using ${path}; stop it, or choose another folder with DUET_DATA`)
  }
}
