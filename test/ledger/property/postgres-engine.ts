import { LEASE_MS } from '../../../src/core/leases.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { SqlAudit } from '../../../src/store/audit.ts'
import { SqlDirectory } from '../../../src/store/directory.ts'
import { PostgresDatabase } from '../../../src/store/postgres/database.ts'
import { PostgresLedger } from '../../../src/store/postgres/ledger.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { LEDGER } from '../../../src/store/postgres/migrations/002-ledger.ts'
import { SqlPrices } from '../../../src/store/prices.ts'
import { newDatabase } from '../../support/databases.ts'
import { CrashingPostgres } from './crashing-postgres.ts'
import type { Engine, Life, LifeOptions } from './life.ts'
import { Looker } from './look.ts'
import { asReplacement } from './postgres-sabotage.ts'

export const POSTGRES_ENGINE: Engine = {
  chargesInterrupted: true,

  /** The same for all epochs: emptying a database takes a tenth of the time of making one. */
  async create({ fill }) {
    database ??= newDatabase()
    const url = await database
    const db = new PostgresDatabase({ url, connections: 1 })
    await migrate(db)
    await db.script(asReplacement(LEDGER))
    await db.script(EMPTY)
    await fill(db)
    await db.close()
    return url
  },

  async begin({ place, owner, clock, toll, sabotage, fault }: LifeOptions) {
    const eyes = new PostgresDatabase({ url: place, connections: 1 })
    const db = new CrashingPostgres({ url: place, toll, eyes })
    await sabotage?.functions?.(eyes)
    db.arm(fault)
    const life: Life = {
      ...{
        owner,
        place,
        db,
        ledger: new Ledger(new PostgresLedger(db), { owner, clock }),
        looker: new Looker(eyes, owner),
      },
      ...{ directory: new SqlDirectory(db), prices: new SqlPrices(db), audit: new SqlAudit(eyes) },
      waitForDeaths: () => waitForDeaths(eyes, owner),
    }
    return life
  },
}

let database: Promise<string> | undefined

/** All that an epoch writes to. */
const EMPTY = `
  TRUNCATE accounts, keys, prices, entries, deposits, holds, owners, usage, usage_hours, usage_days, answers RESTART IDENTITY CASCADE`

/** A lease later: nobody else was heard of, and this one all the time. */
async function waitForDeaths(db: PostgresDatabase, owner: string): Promise<void> {
  await db.run('UPDATE owners SET expires_at = 0 WHERE owner <> ?', owner)
  await db.run(
    `INSERT INTO owners VALUES (?, 0, duet_now() + ${LEASE_MS})
     ON CONFLICT (owner) DO UPDATE SET since = 0, expires_at = excluded.expires_at`,
    owner,
  )
}
