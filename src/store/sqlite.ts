import type { Store } from '../core/ports.ts'
import { type DatabaseOptions, EmbeddedDatabase } from './database.ts'
import { SqliteDirectory } from './directory.ts'
import { SqliteLedger } from './ledger.ts'

/** The embedded store: one file, owned by this process. */
export function openSqlite(options: DatabaseOptions): Store {
  const db = new EmbeddedDatabase(options)
  return { ledger: new SqliteLedger(db), directory: new SqliteDirectory(db), close: () => db.close() }
}
