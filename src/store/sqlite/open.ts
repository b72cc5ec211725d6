import type { Store } from '../../core/store.ts'
import { portsOf } from '../ports.ts'
import { type DatabaseOptions, EmbeddedDatabase } from './database.ts'
import { SqliteLedger } from './ledger.ts'

/** The embedded store: one file, owned by this process. */
export function openSqlite(options: DatabaseOptions): Store {
  const db = new EmbeddedDatabase(options)
  return { ...portsOf(db), ledger: new SqliteLedger(db), close: async () => db.close() }
}
