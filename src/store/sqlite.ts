import type { Store } from '../core/store.ts'
import { SqliteAnswers } from './answers.ts'
import { SqliteAudit } from './audit.ts'
import { SqliteCaptures } from './captures.ts'
import { SqliteCodes } from './codes.ts'
import { type DatabaseOptions, EmbeddedDatabase } from './database.ts'
import { SqliteDirectory } from './directory.ts'
import { SqliteLedger } from './ledger.ts'
import { SqliteManaged } from './managed.ts'
import { SqliteNotices } from './notices.ts'
import { SqlitePeople } from './people.ts'
import { SqlitePrices } from './prices.ts'
import { SqliteRecords } from './records.ts'
import { SqliteStanding } from './standing.ts'

/** The embedded store: one file, owned by this process. */
export function openSqlite(options: DatabaseOptions): Store {
  const db = new EmbeddedDatabase(options)
  return {
    ledger: new SqliteLedger(db),
    prices: new SqlitePrices(db),
    directory: new SqliteDirectory(db),
    people: new SqlitePeople(db),
    codes: new SqliteCodes(db),
    notices: new SqliteNotices(db),
    managed: new SqliteManaged(db),
    records: new SqliteRecords(db),
    standing: new SqliteStanding(db),
    captures: new SqliteCaptures(db),
    answers: new SqliteAnswers(db),
    audit: new SqliteAudit(db),
    close: () => db.close(),
  }
}
