import { Ledger } from '../../../src/ledger/ledger.ts'
import { SqliteAudit } from '../../../src/store/audit.ts'
import { SqliteDirectory } from '../../../src/store/directory.ts'
import { SqliteLedger } from '../../../src/store/ledger.ts'
import { SqlitePrices } from '../../../src/store/prices.ts'
import { CrashingDatabase, type CrashingOptions } from './crashing-database.ts'
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
}

export function beginLife({ owner, clock, sabotage, ...options }: LifeOptions): Life {
  const db = new (sabotage?.database ?? CrashingDatabase)(options)
  const store = sabotage?.store?.(db) ?? new SqliteLedger(db)
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
}
