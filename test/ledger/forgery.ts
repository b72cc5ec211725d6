import { Database } from 'bun:sqlite'
import { expect } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import type { Audit } from '../../src/core/records.ts'
import { databasePath } from '../../src/open-store.ts'
import { SqlAudit } from '../../src/store/audit.ts'
import { OneTransaction } from '../../src/store/postgres/one-transaction.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { endWhereOneWrites } from '../../src/store/usage-end.ts'
import { databaseOf, STORE } from '../support/databases.ts'
import { newFolder } from '../support/duet.ts'

/** What was kept, for those who change it behind its back. */
export interface Forgery {
  /** Shows a copy in which this was done, and forgets it. */
  inCopy<T>(sql: string | undefined, look: (audit: Audit) => Promise<T>): Promise<T>
  /** A folder to start a Duet in, with what this was done to. The original may be gone then. */
  tamperedFolder(sql: string): Promise<string>
}

export const forgeryOf = (folder: string): Forgery =>
  STORE === 'sqlite' ? forgeryOfFile(databasePath(join(folder, 'data'))) : forgeryOfServer(folder)

// A change of nothing would be found clean, and nobody would know that nothing was tried.
const expectChanges = (count: number): void => expect(count).toBeGreaterThan(0)

// ── a file ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function forgeryOfFile(original: string): Forgery {
  expect(existsSync(`${original}-wal`)).toBe(false)
  const copyTo = (path: string, sql: string | undefined) => {
    copyFileSync(original, path)
    if (sql !== undefined) tamper(path, sql)
  }
  return {
    async inCopy(sql, look) {
      const path = join(newFolder(), 'duet.db')
      copyTo(path, sql)
      const store = openSqlite({ path, durability: 'process' })
      try {
        return await look(store.audit)
      } finally {
        await store.close()
      }
    },
    async tamperedFolder(sql) {
      const folder = newFolder()
      mkdirSync(join(folder, 'data'))
      copyTo(databasePath(join(folder, 'data')), sql)
      return folder
    },
  }
}

function tamper(path: string, sql: string): void {
  const db = new Database(path)
  const changes = () => (db.query('SELECT total_changes() AS sum').get() as { sum: number }).sum
  const before = changes()
  db.run(sql)
  expectChanges(changes() - before)
  db.close()
}

// ── a server ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Whoever forges is not held up by what the tables ask of each other. */
const WITHOUT_REFERENCES = `
  DO $$
  DECLARE
    one RECORD;
  BEGIN
    FOR one IN SELECT conname, CAST(conrelid AS REGCLASS) AS name FROM pg_constraint
               WHERE contype = 'f' AND connamespace = 'public'::regnamespace LOOP
      EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', one.name, one.conname);
    END LOOP;
  END $$`

/** A copy of a database is a transaction that is never committed. */
class NeverMind<T> extends Error {
  readonly result: T

  constructor(result: T) {
    super('it is rolled back')
    this.result = result
  }
}

function forgeryOfServer(folder: string): Forgery {
  const connect = async () => new SQL(await databaseOf(folder), { max: 1, bigint: true })
  return {
    async inCopy<T>(sql: string | undefined, look: (audit: Audit) => Promise<T>) {
      const server = await connect()
      const end = await server
        .begin(async tx => {
          if (sql !== undefined) {
            await tx.unsafe(WITHOUT_REFERENCES)
            expectChanges(changesOf(await tx.unsafe(sql)))
          }
          // There is nobody else, so that nobody has to be waited for.
          throw new NeverMind(await look(new SqlAudit(new OneTransaction(tx), endWhereOneWrites)))
        })
        .catch((error: unknown) => error)
      await server.close()
      if (end instanceof NeverMind) return (end as NeverMind<T>).result
      throw end
    },
    async tamperedFolder(sql) {
      const server = await connect()
      expectChanges(changesOf(await server.unsafe(sql)))
      await server.close()
      return folder
    },
  }
}

interface Changed {
  readonly affectedRows?: number | null
}

/** Of one statement, or of several. */
function changesOf(result: Changed | readonly Changed[]): number {
  const own = (result as Changed).affectedRows
  if (typeof own === 'number') return own
  return (result as readonly Changed[]).reduce((sum, { affectedRows }) => sum + (affectedRows ?? 0), 0)
}
