import { type Schema, type SchemaEvents, stepsAfter } from '../schema.ts'
import { PostgresDatabase } from './database.ts'
import { currentVersion, MIGRATIONS, migrate, SCHEMA_LOCK } from './migrate.ts'
import { requireOwnSessions } from './own-sessions.ts'

export function postgresSchema(url: string, { waiting }: Pick<SchemaEvents, 'waiting'>): Schema {
  const db = new PostgresDatabase({ url, connections: 1 })
  const names = MIGRATIONS.map(({ name }) => name)
  const pending = async () => {
    await requireOwnSessions(url)
    return stepsAfter(await currentVersion(db), names)
  }
  return {
    newest: names.length,
    pending,
    async apply() {
      if ((await pending()).length > 0 && (await isTaken(db))) waiting()
      const applied = await migrate(db)
      return stepsAfter(0, names).filter(({ name }) => applied.includes(name))
    },
    close: () => db.close(),
  }
}

/** Whether somebody changes the schema at this moment. The server keeps the lock's number in two halves. */
async function isTaken(db: PostgresDatabase): Promise<boolean> {
  const row = await db.get(
    `SELECT 1 AS one FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND CAST(classid AS BIGINT) = ? AND CAST(objid AS BIGINT) = ?
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    SCHEMA_LOCK >> 32n,
    SCHEMA_LOCK & 0xffff_ffffn,
  )
  return row !== undefined
}
