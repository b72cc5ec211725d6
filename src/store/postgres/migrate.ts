import { ask, type Work } from '../database.ts'
import type { PostgresDatabase } from './database.ts'
import { TABLES } from './migrations/001-tables.ts'
import { LEDGER } from './migrations/002-ledger.ts'
import { REPLICAS } from './migrations/003-replicas.ts'
import { DAYS } from './migrations/004-days.ts'

interface Migration {
  readonly name: string
  readonly sql: string
}

/**
 * Forward only; `schema_version` has the number and the name of each that was applied. Never edit one that was released: add
 * one. Replicas of the release before go on working while one is applied, and after it, until they are replaced:
 *
 * - Expand: add tables, columns that may be empty or have a constant default, and functions under a new name (a function is
 *   never changed in what it takes, answers or does). Old replicas do not notice.
 * - Contract: what no release in use needs any more is dropped one release later, never in the one that stops using it.
 * - A lock on a table that is in use is waited for briefly (`LOCK_MS_MAX`): whoever waits for one makes everybody behind it
 *   wait. An index on a large table is not made here, but concurrently, by whoever runs the database, before the release
 *   that needs it; the migration says IF NOT EXISTS.
 */
export const MIGRATIONS: readonly Migration[] = [
  { name: 'tables', sql: TABLES },
  { name: 'ledger', sql: LEDGER },
  { name: 'replicas', sql: REPLICAS },
  { name: 'sums by the day', sql: DAYS },
]

/** Any number that nobody else uses: whoever has this lock changes the schema. */
export const SCHEMA_LOCK = 7_264_182_001n

/** Replicas that start together wait for the one that is first. */
const TURN_MS_MAX = 600_000
const LOCK_MS_MAX = 3_000

const SCHEMA_VERSION = `
  CREATE TABLE IF NOT EXISTS schema_version (
    version    BIGINT PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at BIGINT NOT NULL
  )`

/** Brings the schema up to what this program knows; returns the names of what was applied. Throws for a newer one. */
export async function migrate(db: PostgresDatabase): Promise<readonly string[]> {
  const applied: string[] = []
  // Nobody has to wait for a turn to learn that there is nothing to do.
  while ((await currentVersion(db)) < MIGRATIONS.length) {
    const name = await db.patiently(TURN_MS_MAX, applyNext)
    if (name !== undefined) applied.push(name)
  }
  return applied
}

/** How many migrations a database has seen; none, if it is new. Throws for a newer one. */
export async function currentVersion(db: PostgresDatabase): Promise<number> {
  const known = await db.get<{ is_there: boolean }>(`SELECT to_regclass('schema_version') IS NOT NULL AS is_there`)
  if (!known?.is_there) return 0
  const row = await db.get<{ version: bigint }>(CURRENT)
  return refuseNewer(Number(row?.version))
}

/** One migration, in a transaction of its own: all of it or nothing. */
function* applyNext(): Work<string | undefined> {
  yield* ask.run('SET LOCAL lock_timeout = 0')
  yield* ask.get(`SELECT pg_advisory_xact_lock(${SCHEMA_LOCK})`)
  yield* ask.run(`SET LOCAL lock_timeout = ${LOCK_MS_MAX}`)
  yield* ask.run('SET LOCAL client_min_messages = warning')
  yield* ask.run(SCHEMA_VERSION)
  // Somebody else may have had the turn before.
  const row = yield* ask.get<{ version: bigint }>(CURRENT)
  const version = refuseNewer(Number(row?.version))
  const next = MIGRATIONS[version]
  if (!next) return undefined
  yield* ask.run(next.sql)
  yield* ask.run(
    `INSERT INTO schema_version VALUES (?, ?, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT))`,
    version + 1,
    next.name,
  )
  return next.name
}

const CURRENT = 'SELECT coalesce(max(version), 0) AS version FROM schema_version'

function refuseNewer(version: number): number {
  if (version <= MIGRATIONS.length) return version
  throw new Error(
    `the database was written by a newer version of Duet (its schema is number ${version}, this one knows ${MIGRATIONS.length})`,
  )
}
