import { createDatabase, dropDatabases, type PostgresServer, startPostgres } from './postgres.ts'

/** What the servers of the tests keep their books in. */
export const STORE = readStore(process.env.DUET_TEST_STORE)

/** The server that all test files share, when they run side by side (`test/run.ts`); a file by itself starts its own. */
const SHARED = process.env.DUET_TEST_POSTGRES

/** Enough for every rule about secrets. */
const SECRET = 'secret-of-the-tests-that-seals-and-signs'

const databases: string[] = []
const byFolder = new Map<string, Promise<string>>()
let own: Promise<PostgresServer> | undefined
let template: Promise<string> | undefined

/** The address of a PostgreSQL database that is empty, and gone when the tests are over. */
export async function newDatabase(): Promise<string> {
  return kept(await createDatabase(await serverUrl()))
}

/** The one that belongs to a folder: whoever comes back to the folder finds its books again. Its tables are there. */
export function databaseOf(folder: string): Promise<string> {
  const database = byFolder.get(folder) ?? newMigrated()
  byFolder.set(folder, database)
  return database
}

async function newMigrated(): Promise<string> {
  const server = await serverUrl()
  template ??= import('./template.ts').then(({ migratedTemplate }) => migratedTemplate(server))
  return kept(await createDatabase(server, await template))
}

function kept(database: string): string {
  databases.push(database)
  return database
}

/** What a Duet in this folder is to be told about its store. */
export async function storeEnv(folder: string): Promise<Record<string, string>> {
  if (STORE === 'sqlite') return {}
  return { DUET_DATABASE_URL: await databaseOf(folder), DUET_SECRET: SECRET }
}

export async function removeDatabases(): Promise<void> {
  if (own) await (await own).stop()
  else if (SHARED && databases.length > 0) await dropDatabases(SHARED, databases.splice(0))
  own = undefined
  template = undefined
}

async function serverUrl(): Promise<string> {
  if (SHARED) return SHARED
  own ??= startPostgres()
  return (await own).url
}

function readStore(name = 'sqlite'): 'sqlite' | 'postgres' {
  if (name === 'sqlite' || name === 'postgres') return name
  throw new Error(`DUET_TEST_STORE must be sqlite or postgres, not ${name}`)
}
