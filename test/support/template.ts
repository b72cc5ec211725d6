import { SQL } from 'bun'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { createDatabase } from './postgres.ts'

const NAME = 'duet_template'
/** Any number: whoever has this lock makes the template. */
const LOCK = 7_264_182_900

/**
 * The name of a database whose tables are there, and nothing in them: to copy it costs an eighth of the work of making them.
 * Other test files may use the same server, so it is made by whoever comes first.
 */
export async function migratedTemplate(server: string): Promise<string> {
  const sql = new SQL(server, { max: 1 })
  try {
    // Lasts as long as the connection.
    await sql.unsafe(`SELECT pg_advisory_lock(${LOCK})`)
    const known = await sql.unsafe(`SELECT datname FROM pg_database WHERE datname = '${NAME}'`)
    if (known.length > 0) return NAME
    const made = await createDatabase(server)
    const store = await openPostgres({ url: made })
    await store.close()
    await sql.unsafe(`ALTER DATABASE ${new URL(made).pathname.slice(1)} RENAME TO ${NAME}`)
    return NAME
  } finally {
    await sql.close()
  }
}
