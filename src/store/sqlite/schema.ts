import { Database as Sqlite } from 'bun:sqlite'
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Schema, type SchemaEvents, stepsAfter } from '../schema.ts'
import { EmbeddedDatabase } from './database.ts'
import { MIGRATION_NAMES } from './migrations.ts'

export function embeddedSchema(path: string, { kept }: Pick<SchemaEvents, 'kept'>): Schema {
  const pending = () => stepsAfter(versionOf(path), MIGRATION_NAMES)
  return {
    newest: MIGRATION_NAMES.length,
    pending: async () => pending(),
    async apply() {
      const steps = pending()
      if (steps.length === 0) return steps
      if (existsSync(path)) kept(keepCopy(path))
      else mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      // It brings itself up to date when it is opened.
      new EmbeddedDatabase({ path, durability: 'process' }).close()
      return steps
    },
    close: async () => {},
  }
}

function versionOf(path: string): number {
  if (!existsSync(path)) return 0
  const version = withFile(path, db => {
    return Number(db.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version)
  })
  if (version > MIGRATION_NAMES.length) throw new Error('the database was written by a newer version of Duet')
  return version
}

/** A copy of everything, also of what is still in the log. There is no way back from a newer form but this. */
function keepCopy(path: string): string {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const copy = `${path}.before-${time}`
  withFile(path, db => db.run('VACUUM INTO ?', [copy]))
  return copy
}

function withFile<T>(path: string, work: (db: Sqlite) => T): T {
  const db = new Sqlite(path, { readwrite: true })
  try {
    return work(db)
  } finally {
    db.close(true)
  }
}
