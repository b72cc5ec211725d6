import { ask, type Work } from '../database.ts'

/**
 * What entries add up to that are about to go: for each account the number, the hash and the balance of the last of them, and what
 * each key had spent by then. So everything that is left can still be checked from there on. An account's entries go in the order of
 * their numbers: what comes after one that stays, stays. Returns whether there are any.
 */
export function* sumUp(table: string, before: number): Work<boolean> {
  const known = yield* ask.get(`SELECT 1 AS one FROM ${table} WHERE at < ? LIMIT 1`, before)
  if (!known) return false
  // The first number that stays, where there is one.
  yield* ask.run(`
    CREATE TEMPORARY TABLE leaving ON COMMIT DROP AS
    SELECT a.account_id,
           (SELECT min(e.seq) FROM entries e
            WHERE e.account_id = a.account_id AND e.seq > coalesce(o.seq, 0)
              AND NOT (e.tableoid = CAST('${table}' AS REGCLASS) AND e.at < ${before})) AS stays
    FROM (SELECT DISTINCT account_id FROM ${table} WHERE at < ${before}) AS a
    LEFT JOIN openings o ON o.account_id = a.account_id;
    CREATE UNIQUE INDEX ON leaving (account_id);
    ANALYZE leaving`)
  const gone = `FROM ${table} e JOIN leaving l ON l.account_id = e.account_id WHERE ${isGone(before)}`
  yield* ask.run(`
    INSERT INTO key_openings AS k (account_id, key_id, spent)
    SELECT e.account_id, e.key_id, CAST(-sum(e.amount) AS BIGINT) ${gone} AND e.kind = 'charge' GROUP BY 1, 2
    ON CONFLICT (account_id, key_id) DO UPDATE SET spent = k.spent + excluded.spent`)
  yield* ask.run(`
    INSERT INTO openings (account_id, seq, head, balance)
    SELECT DISTINCT ON (e.account_id) e.account_id, e.seq, e.hash, e.balance ${gone} ORDER BY e.account_id, e.seq DESC
    ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq, head = excluded.head, balance = excluded.balance`)
  return true
}

const isGone = (before: number): string => `e.at < ${before} AND (l.stays IS NULL OR e.seq < l.stays)`

/** After `sumUp` of it. */
export function* removeGone(table: string, before: number): Work<void> {
  yield* ask.run(`DELETE FROM ${table} e USING leaving l WHERE l.account_id = e.account_id AND ${isGone(before)}`)
}

/** After `sumUp` of it: those that stay go to where the rows without a month are. The table must not be a month's any more. */
export function* keepRest(table: string, before: number): Work<void> {
  yield* ask.run(`
    INSERT INTO entries
    SELECT e.* FROM ${table} e JOIN leaving l ON l.account_id = e.account_id WHERE NOT (${isGone(before)})`)
}
