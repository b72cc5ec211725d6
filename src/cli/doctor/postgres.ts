import { readSecret } from '../../config/secrets.ts'
import { createSealer } from '../../core/seal.ts'
import { StoreUnavailable } from '../../core/store.ts'
import { PostgresDatabase } from '../../store/postgres/database.ts'
import { currentVersion, MIGRATIONS } from '../../store/postgres/migrate.ts'
import { REPLICA_CONNECTIONS } from '../../store/postgres/open.ts'
import { requireOwnSessions } from '../../store/postgres/own-sessions.ts'
import type { Context } from '../command.ts'
import { askingDatabase, placeOf } from '../database.ts'
import { asCommandError } from '../failure.ts'
import { count } from '../table.ts'
import { type Check, failed, ok, warning } from './check.ts'
import { judgeClock } from './clock.ts'

const NAME = 'database'
/** The oldest that has all we ask of it. */
const VERSION_MIN = 15

/** The PostgreSQL that replicas share. Looking at it is in nobody's way. */
export async function checkPostgres(url: string, { env, clock }: Context): Promise<Check[]> {
  const place = placeOf(url)
  const db = new PostgresDatabase({ url, connections: 1 })
  try {
    return await askingDatabase(place, async () => {
      await requireOwnSessions(url)
      const server = await checkVersion(db, place)
      if (server.status === 'failed') return [server]
      const schema = await checkSchema(db)
      const rest = schema.status === 'ok' ? [...(await checkLocks(db)), await checkSecret(db, env)] : []
      return [server, schema, await checkClock(db, clock), await checkConnections(db, url), ...rest]
    })
  } catch (error) {
    return [failed(NAME, asCommandError(error).message)]
  } finally {
    await db.close()
  }
}

async function checkVersion(db: PostgresDatabase, place: string): Promise<Check> {
  const row = await db.get<{ number: string; name: string }>(
    `SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS name`,
  )
  const isOld = Number(row?.number) < VERSION_MIN * 10_000
  if (isOld) return failed(NAME, `${place} is PostgreSQL ${row?.name}; Duet needs ${VERSION_MIN} or newer`)
  return ok(NAME, `${place} answers: PostgreSQL ${row?.name}`)
}

async function checkSchema(db: PostgresDatabase): Promise<Check> {
  try {
    const pending = MIGRATIONS.length - (await currentVersion(db))
    if (pending === 0) return ok('schema', `has the newest form (${MIGRATIONS.length})`)
    return warning('schema', `${count(pending, 'migration')} missing: the next start, or "duet migrate", applies them`)
  } catch (error) {
    return failed('schema', asCommandError(error).message)
  }
}

async function checkClock(db: PostgresDatabase, clock: () => number): Promise<Check> {
  const before = clock()
  const row = await db.get<{ now: bigint }>(
    'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now',
  )
  const [theirs, after] = [Number(row?.now), clock()]
  const skewMs = theirs > after ? theirs - after : Math.min(0, theirs - before)
  return judgeClock('database clock', { skewMs, whose: 'the database' })
}

interface ConnectionsRow {
  readonly most: bigint
  readonly used: bigint
}

/** Of those that anybody may have: some are kept for whoever repairs the server, and roles and databases can have less. */
const CONNECTIONS = `
  SELECT least(
           CAST(current_setting('max_connections') AS BIGINT)
             - CAST(current_setting('superuser_reserved_connections') AS BIGINT)
             - CAST(coalesce(current_setting('reserved_connections', true), '0') AS BIGINT),
           (SELECT CAST(nullif(rolconnlimit, -1) AS BIGINT) FROM pg_roles WHERE rolname = current_user),
           (SELECT CAST(nullif(datconnlimit, -1) AS BIGINT) FROM pg_database WHERE datname = current_database())
         ) AS most,
         (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`

async function checkConnections(db: PostgresDatabase, url: string): Promise<Check> {
  const row = await db.get<ConnectionsRow>(CONNECTIONS)
  const [most, used] = [Number(row?.most), Number(row?.used)]
  const replicas = Math.floor(most / REPLICA_CONNECTIONS)
  const text = `${most} for everyone, ${used} in use; a replica has up to ${REPLICA_CONNECTIONS}: room for ${count(replicas, 'replica')}`
  if (replicas === 0) return failed('connections', text)
  if (most - used < REPLICA_CONNECTIONS) return warning('connections', `${text}, but not for one more`)
  return (await areGiven(url)) ? ok('connections', text) : warning('connections', `${text}, ${NOT_GIVEN}`)
}

const GIVEN_MS_MAX = 5_000
const NOT_GIVEN =
  'but they were not given just now: a limit of this role, or a pooler in between, is lower (PgBouncer: default_pool_size, max_client_conn)'

/** Who has a pooler in between has less than the server allows, and is not told how much. */
async function areGiven(url: string): Promise<boolean> {
  const db = new PostgresDatabase({ url, connections: REPLICA_CONNECTIONS, answerMsMax: GIVEN_MS_MAX })
  try {
    await Promise.all(Array.from({ length: REPLICA_CONNECTIONS }, () => db.get('SELECT 1')))
    return true
  } catch (error) {
    if (error instanceof StoreUnavailable) return false
    throw error
  } finally {
    await db.close()
  }
}

interface LocksRow {
  readonly most: bigint
  readonly months: bigint
}

const LOCKS = `
  SELECT CAST(current_setting('max_locks_per_transaction') AS BIGINT)
           * CAST(current_setting('max_connections') AS BIGINT) AS most,
         (SELECT count(*) FROM pg_inherits WHERE inhparent = CAST('usage' AS REGCLASS)) AS months`

/** Whoever looks at all months locks a table for each, and its indexes. */
const LOCKS_PER_MONTH = 10

/** Nothing is said where there is room, which is so for years. */
async function checkLocks(db: PostgresDatabase): Promise<Check[]> {
  const row = await db.get<LocksRow>(LOCKS)
  const [most, months] = [Number(row?.most), Number(row?.months)]
  if (most >= REPLICA_CONNECTIONS * months * LOCKS_PER_MONTH) return []
  const text = `room for ${most}, and each of ${months} months needs up to ${LOCKS_PER_MONTH} for each connection`
  return [warning('locks', `${text}: raise max_locks_per_transaction, or keep fewer months`)]
}

/** With another secret everybody is signed out, and vendor keys that were stored cannot be used. */
async function checkSecret(db: PostgresDatabase, env: Context['env']): Promise<Check> {
  const secret = readSecret(env, 'DUET_SECRET', [])
  if (secret === undefined) return failed('secret', 'DUET_SECRET is not set: every replica needs the same')
  const row = await db.get<{ sealed: string }>(SEALED)
  if (!row) return ok('secret', 'DUET_SECRET is set; nothing is sealed with it yet')
  try {
    createSealer(secret).open(row.sealed)
    return ok('secret', 'DUET_SECRET opens what is sealed in the database')
  } catch {
    return failed('secret', 'DUET_SECRET is not the one that the database was sealed with')
  }
}

const SEALED = `
  (SELECT sealed FROM channel_keys LIMIT 1) UNION ALL (SELECT sealed FROM notices LIMIT 1)
  UNION ALL (SELECT sealed FROM captures LIMIT 1) LIMIT 1`
