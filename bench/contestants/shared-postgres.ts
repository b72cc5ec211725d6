import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts'
import type { Cores } from '../machine/cores.ts'
import { family } from '../machine/processes.ts'

/** As in production: what is committed is on the disk. The rest is as the server comes, but for the memory it may take. */
const SETTINGS = { shared_buffers: '512MB', max_wal_size: '4GB', track_wal_io_timing: 'on' }

let server: Promise<PostgresServer> | undefined
const databases = new Map<string, Promise<string>>()

/** The one server of a run; it ends with it. */
export function sharedPostgres(): Promise<PostgresServer> {
  server ??= startPostgres({ fsync: true, settings: SETTINGS })
  return server
}

/** The address of the database that belongs to a folder. */
export function databaseOf(folder: string): Promise<string> {
  const known = databases.get(folder) ?? sharedPostgres().then(one => one.newDatabase())
  databases.set(folder, known)
  return known
}

/** From now on it runs there: what it starts later inherits it. */
export async function movePostgres(cores: Cores): Promise<void> {
  const { pid } = await sharedPostgres()
  for (const each of family(pid)) Bun.spawnSync([...cores.slice(0, 1), '-p', ...cores.slice(1), String(each)])
}
