import type { Config } from './config/config.ts'
import type { Audit } from './core/records.ts'
import { openStore } from './open-store.ts'
import { SqlAudit } from './store/audit.ts'

/** Everything there is to check, without being a replica among others. */
export interface OpenedAudit {
  readonly audit: Audit
  close(): Promise<void>
}

export async function openAudit({
  databaseUrl,
  dataFolder,
}: Pick<Config, 'databaseUrl' | 'dataFolder'>): Promise<OpenedAudit> {
  if (databaseUrl === undefined) {
    const store = await openStore({ dataFolder, durability: 'process' })
    return { audit: store.audit, close: async () => store.close() }
  }
  const [{ PostgresDatabase }, { currentVersion, MIGRATIONS }, { requireOwnSessions }] = await Promise.all([
    import('./store/postgres/database.ts'),
    import('./store/postgres/migrate.ts'),
    import('./store/postgres/own-sessions.ts'),
  ])
  await requireOwnSessions(databaseUrl)
  const db = new PostgresDatabase({ url: databaseUrl, connections: 1 })
  if ((await currentVersion(db)) < MIGRATIONS.length) {
    await db.close()
    throw new Error('the database has not the form that this version knows: run "duet migrate"')
  }
  return { audit: new SqlAudit(db), close: () => db.close() }
}
