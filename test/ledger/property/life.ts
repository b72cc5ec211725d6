import { Ledger } from '../../../src/ledger/ledger.ts'
import { SqliteAudit } from '../../../src/store/audit.ts'
import { SqliteDirectory } from '../../../src/store/directory.ts'
import { SqliteLedger } from '../../../src/store/ledger.ts'
import { SqlitePrices } from '../../../src/store/prices.ts'
import { CrashingDatabase, type CrashingOptions, type Fault } from './crashing-database.ts'
import { Looker } from './look.ts'
import type { Sabotage } from './sabotage.ts'

/** One process, from its start to its death: what `app.ts` makes of a database, and eyes of our own. */
export interface Life {
  readonly owner: string
  readonly path: string
  readonly db: CrashingDatabase
  readonly ledger: Ledger
  readonly directory: SqliteDirectory
  readonly prices: SqlitePrices
  readonly audit: SqliteAudit
  readonly looker: Looker
}

export interface LifeOptions extends CrashingOptions {
  readonly owner: string
  readonly clock: () => number
  readonly sabotage: Sabotage | undefined
  /** After so many rows the ledger brings its journal into the tables. */
  readonly foldRows: number
  /** What goes wrong while it begins: a process can die of what another one has left. */
  readonly fault: Fault | undefined
}

/** A life, or what is left of one that ended while it began. */
export function beginLife({
  owner,
  clock,
  sabotage,
  foldRows,
  fault,
  ...options
}: LifeOptions): Life | CrashingDatabase {
  const db = new (sabotage?.database ?? CrashingDatabase)(options)
  db.arm(fault)
  try {
    const store = sabotage?.store?.(db) ?? new SqliteLedger(db, foldRows)
    db.arm(undefined)
    return {
      owner,
      path: options.path,
      db,
      ledger: new Ledger(store, { owner, clock }),
      directory: new SqliteDirectory(db),
      prices: new SqlitePrices(db),
      audit: new SqliteAudit(db),
      looker: new Looker(db),
    }
  } catch (error) {
    if (!db.isDead) throw error
    return db
  }
}
