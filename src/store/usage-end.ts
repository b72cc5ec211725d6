import type { Database, Dialect } from './database.ts'

/**
 * The number up to which all usage records are there to be read: whatever is written from now on has a greater one. Whoever
 * goes on from here misses nothing and sees nothing twice.
 */
export const usageEnd = (db: Database): Promise<number> => ENDS[db.dialect.name](db)

const ENDS: Record<Dialect['name'], (db: Database) => Promise<number>> = {
  sqlite: endWhereOneWrites,
  postgres: endWhereManyWrite,
}

export async function endWhereOneWrites(db: Database): Promise<number> {
  const row = await db.get<{ id: bigint | null }>('SELECT max(id) AS id FROM usage')
  return Number(row?.id ?? 0)
}

/** By then whoever wrote has ended, or was stopped by the server: transactions of ours have less time than that. */
const WRITE_MS_MAX = 15_000
const PAUSE_MS_MAX = 50

/**
 * Numbers are given out in order, and transactions end in any order. Whoever was given one was writing at that time: when all
 * of those have ended, what they wrote is there, and what they did not write will never be.
 */
async function endWhereManyWrite(db: Database): Promise<number> {
  const given = await db.get<{ id: bigint }>(
    // The last one that was given out, and not the first one that will be.
    'SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END AS id FROM usage_id_seq',
  )
  await writersEnded(db)
  return Number(given?.id ?? 0)
}

/** All others that are writing now. */
async function writersEnded(db: Database): Promise<void> {
  const before = await writers(db)
  const deadline = performance.now() + WRITE_MS_MAX
  for (let [now, pauseMs] = [before, 1]; !before.isDisjointFrom(now); pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
    if (performance.now() > deadline) return
    await Bun.sleep(pauseMs)
    now = await writers(db)
  }
}

/** Transactions by their names: whoever writes to a table has locked it before, and until its end. */
async function writers(db: Database): Promise<Set<string>> {
  const rows = await db.all<{ name: string }>(
    `SELECT DISTINCT virtualtransaction AS name FROM pg_locks
     WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND relation = CAST('usage' AS REGCLASS)
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()`,
  )
  return new Set(rows.map(({ name }) => name))
}
