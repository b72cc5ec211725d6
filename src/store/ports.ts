import type { Store } from '../core/store.ts'
import { SqlAnswers } from './answers.ts'
import { SqlAudit } from './audit.ts'
import { SqlCaptures } from './captures.ts'
import { SqlCodes } from './codes.ts'
import type { Database } from './database.ts'
import { SqlDirectory } from './directory.ts'
import { SqlManaged } from './managed.ts'
import { SqlNotices } from './notices.ts'
import { SqlPeople } from './people.ts'
import { SqlPrices } from './prices.ts'
import { SqlRecords } from './records.ts'
import { SqlStanding } from './standing.ts'

type PortName =
  | 'prices'
  | 'people'
  | 'codes'
  | 'notices'
  | 'managed'
  | 'records'
  | 'standing'
  | 'captures'
  | 'answers'
  | 'audit'

export interface Ports extends Pick<Store, PortName> {
  /** Keeps callers in memory, and has to be told when somebody else has changed keys. */
  readonly directory: SqlDirectory
}

/** The same database, by other connections where it has any: nobody who calls waits behind those who look at things. */
export interface CallersDatabases {
  /** Asked who somebody is that is not remembered. */
  readonly callers: Database
  /** Asked within a call. */
  readonly calls: Database
}

/** All of a store but its ledger, the same for every database. */
export const portsOf = (db: Database, { callers, calls }: CallersDatabases = { callers: db, calls: db }): Ports => ({
  prices: new SqlPrices(db),
  directory: new SqlDirectory(db, callers),
  people: new SqlPeople(db),
  codes: new SqlCodes(db),
  notices: new SqlNotices(db),
  managed: new SqlManaged(db),
  records: new SqlRecords(db),
  standing: new SqlStanding(db),
  captures: new SqlCaptures(db),
  answers: new SqlAnswers(calls),
  audit: new SqlAudit(db),
})
