import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { LedgerStore } from '../../../src/core/ledger.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { SqlAudit } from '../../../src/store/audit.ts'
import { SqlDirectory } from '../../../src/store/directory.ts'
import { SqlPrices } from '../../../src/store/prices.ts'
import { EmbeddedDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteLedger } from '../../../src/store/sqlite/ledger.ts'
import { CrashingDatabase } from './crashing-database.ts'
import type { Engine, Fill, Life, LifeOptions, Mortal } from './life.ts'
import { Looker } from './look.ts'

export const SQLITE_ENGINE: Engine = {
  chargesInterrupted: false,

  async create({ folder, number, fill }) {
    const template = join(folder, 'template.db')
    if (!existsSync(template)) await createTemplate(template, fill)
    const path = join(folder, `epoch-${number}.db`)
    copyFileSync(template, path)
    return path
  },

  async begin({ place, remains, owner, clock, sabotage, logPagesMax, foldRows, toll, fault }: LifeOptions) {
    const db = new (sabotage?.database ?? CrashingDatabase)({ path: place, remains, logPagesMax, toll })
    return beginOn(db, {
      place,
      owner,
      clock,
      fault,
      store: () => sabotage?.store?.(db) ?? new SqliteLedger(db, foldRows),
    })
  },
}

async function createTemplate(path: string, fill: Fill): Promise<void> {
  const db = new EmbeddedDatabase({ path, durability: 'process' })
  await fill(db)
  db.close()
}

type Beginning = Pick<LifeOptions, 'place' | 'owner' | 'clock' | 'fault'> & { readonly store: () => LedgerStore }

function beginOn(db: CrashingDatabase, { place, owner, clock, fault, store }: Beginning): Life | Mortal {
  db.arm(fault)
  try {
    const ledger = new Ledger(store(), { owner, clock })
    db.arm(undefined)
    return {
      ...{ owner, place, db, ledger, looker: new Looker(db, owner) },
      ...{ directory: new SqlDirectory(db), prices: new SqlPrices(db), audit: new SqlAudit(db) },
      // The file is locked: whoever else had it is dead.
      waitForDeaths: async () => {},
    }
  } catch (error) {
    if (!db.isDead) throw error
    return db
  }
}
