import { join } from 'node:path'
import type { Store } from '../../src/core/store.ts'
import { databasePath, openStore } from '../../src/open-store.ts'
import type { Database } from '../../src/store/database.ts'
import { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { EmbeddedDatabase } from '../../src/store/sqlite/database.ts'
import { databaseOf, STORE } from './databases.ts'

/** The store of a Duet in this folder that does not run now, or does not run yet: whichever store is being tested. */
export async function openStoreOf(folder: string): Promise<Store> {
  const databaseUrl = STORE === 'postgres' ? await databaseOf(folder) : undefined
  return openStore({ dataFolder: join(folder, 'data'), durability: 'process', databaseUrl })
}

/** Its tables, for what a store has no words for: to look behind it, or to forge it. They must be there already. */
export async function openTablesOf(folder: string): Promise<Database & { close(): void | Promise<void> }> {
  if (STORE === 'postgres') return new PostgresDatabase({ url: await databaseOf(folder), connections: 1 })
  return new EmbeddedDatabase({ path: databasePath(join(folder, 'data')), durability: 'process' })
}
