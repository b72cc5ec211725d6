import type { Store } from '../core/store.ts'
import { SqliteAudit } from './audit.ts'
import { type DatabaseOptions, EmbeddedDatabase } from './database.ts'
import { SqliteDirectory } from './directory.ts'
import { SqliteLedger } from './ledger.ts'
import { SqlitePrices } from './prices.ts'
import { SqliteRecords } from './records.ts'

/** The embedded store: one file, owned by this process. */
export function openSqlite(options: DatabaseOptions): Store {
  const db = new EmbeddedDatabase(options)
  return {
    ledger: new SqliteLedger(db),
    prices: new SqlitePrices(db),
    directory: new SqliteDirectory(db),
    records: new SqliteRecords(db),
    audit: new SqliteAudit(db),
    close: () => db.close(),
  }
}
