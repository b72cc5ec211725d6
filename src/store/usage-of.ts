import { timeOfRequest } from '../core/ids.ts'
import { ask, type Database, type Dialect } from './database.ts'
import { usageKeptSince } from './retention.ts'
import type { UsageTableRow } from './rows.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** So many tables, one for each month, are looked at together: whoever looks at one locks it, and locks are not without end. */
const STEP_MS = 366 * DAY_MS

/** The record of one request. */
export const usageOf = (db: Database, requestId: string): Promise<UsageTableRow | undefined> =>
  LOOKS[db.dialect.name](db, requestId)

const LOOKS: Record<Dialect['name'], (db: Database, requestId: string) => Promise<UsageTableRow | undefined>> = {
  sqlite: (db, requestId) => db.get('SELECT * FROM usage WHERE request_id = ?', requestId),
  postgres: lookByMonths,
}

async function lookByMonths(db: Database, requestId: string): Promise<UsageTableRow | undefined> {
  const time = timeOfRequest(requestId)
  const near = time === undefined ? undefined : await lookBetween(db, requestId, [time - DAY_MS, time + DAY_MS])
  return near ?? lookEverywhere(db, requestId)
}

/** For ids of other times: from the latest on, a step at a time. */
async function lookEverywhere(db: Database, requestId: string): Promise<UsageTableRow | undefined> {
  const [from, to] = await rangeOf(db)
  for (let end = to; end > from; end -= STEP_MS) {
    const found = await lookBetween(db, requestId, [Math.max(from, end - STEP_MS), end - 1])
    if (found) return found
  }
  return undefined
}

const lookBetween = (db: Database, requestId: string, [from, to]: readonly [number, number]) =>
  db.get<UsageTableRow>('SELECT * FROM usage WHERE request_id = ? AND started_at BETWEEN ? AND ?', requestId, from, to)

/** From the first record to the last, by the sums of their hours: the records themselves are in many tables. */
function rangeOf(db: Database): Promise<readonly [number, number]> {
  return db.snapshot(function* () {
    const keptSince = yield* usageKeptSince(db.dialect.name)
    const hours = yield* ask.get<{ first: bigint | null; last: bigint | null }>(
      'SELECT min(hour) AS first, max(hour) AS last FROM usage_hours',
    )
    const [first, last] = [Number(hours?.first ?? 0n), Number(hours?.last ?? -1n)]
    return [Math.max(first * HOUR_MS, keptSince), (last + 1) * HOUR_MS] as const
  })
}
