import { StoreUnavailable } from '../../core/store.ts'
import type { Upkeep } from '../../core/upkeep.ts'
import { ask, type Work } from '../database.ts'
import type { PostgresDatabase } from './database.ts'
import { brieflyLocked } from './locking.ts'
import { type Month, monthOf, monthOfTable, monthsBetween, monthsLater } from './months.ts'
import { keepRest, removeGone, sumUp } from './openings.ts'

/** Tables that are kept by the month, and the column that says which. */
const PARTITIONED = { usage: 'started_at', entries: 'at' } as const

type Table = keyof typeof PARTITIONED

const TABLES = Object.keys(PARTITIONED) as Table[]

/** A database that nobody has looked after for so long still has a place for each row of the month. */
const MONTHS_AHEAD = 3

/** Any number that nobody else uses: whoever has this lock makes and drops the tables of months. */
const PARTITIONS_LOCK = 7_264_182_002n

const UNLESS_OTHERS = `SELECT pg_try_advisory_xact_lock(${PARTITIONS_LOCK}) AS is_ours`
/**
 * Whoever starts beside others waits until they have made the months: what it wrote before would have to be moved to its month
 * afterwards, and is not seen by who looks for it just then.
 */
const AFTER_OTHERS = `SELECT TRUE AS is_ours FROM pg_advisory_xact_lock(${PARTITIONS_LOCK})`

/** A month is read once from end to end before it is dropped. */
const UPKEEP_MS_MAX = 600_000

/** Rows outside all months that are deleted at once. */
const STRAY_ROWS_MAX = 10_000

export interface PartitionsOptions {
  /** How many months are kept besides the current one; all, if it is not said. */
  readonly retentionMonths?: number | undefined
  /** The server's, which all replicas agree on: one whose own clock is wrong must not drop what is still wanted. */
  readonly clock?: (db: PostgresDatabase) => Promise<number>
}

async function serverTime(db: PostgresDatabase): Promise<number> {
  const row = await db.get<{ now: bigint }>('SELECT duet_now() AS now')
  return Number(row?.now)
}

/** Makes the tables of months before they are needed, and drops those whose time is over. */
export class Partitions implements Upkeep {
  private readonly db: PostgresDatabase
  private readonly retentionMonths: number | undefined
  private readonly clock: () => Promise<number>

  constructor(db: PostgresDatabase, { retentionMonths, clock = serverTime }: PartitionsOptions) {
    this.db = db
    this.retentionMonths = retentionMonths
    this.clock = () => clock(db)
  }

  async keepUp(): Promise<readonly string[]> {
    const made = await this.makeAhead()
    const dropped = await this.dropOld()
    return [...made.map(table => `made ${table}`), ...dropped.map(table => `dropped ${table}`)]
  }

  /** Returns the names of the tables that were made. */
  async makeAhead(): Promise<string[]> {
    const month = monthOf(await this.clock())
    return this.make(month.from, monthsLater(month, MONTHS_AHEAD).from)
  }

  /** For all months from one time to another. */
  async make(from: number, to: number): Promise<string[]> {
    const made: string[] = []
    const known = new Set(await this.tables())
    for (const month of monthsBetween(from, to)) {
      for (const table of TABLES) {
        if (known.has(nameOf(table, month))) continue
        // Each by itself: whoever waits for the lock of one table has that of no other.
        if (await this.attempt(() => makeMonth(table, month), AFTER_OTHERS)) made.push(nameOf(table, month))
      }
    }
    return made
  }

  /** Returns the names of the tables that were dropped. */
  private async dropOld(): Promise<string[]> {
    if (this.retentionMonths === undefined) return []
    const end = monthsLater(monthOf(await this.clock()), -this.retentionMonths).from
    // Said before it is done: whoever checks the records meanwhile leaves these out.
    await this.db.run('UPDATE horizon SET kept_since = ? WHERE kept_since < ?', end, end)
    const old = (await this.tables()).filter(name => (monthOfTable(name)?.to ?? Number.POSITIVE_INFINITY) <= end)
    const dropped: string[] = []
    await this.dropStrays(end)
    for (const name of old.sort()) {
      const drop = name.startsWith('usage') ? dropUsage : dropEntries
      if (await this.attempt(() => drop(name))) dropped.push(name)
    }
    return dropped
  }

  /** What was written too late, or too early, for a month of its own. */
  private async dropStrays(end: number): Promise<void> {
    await this.attempt(() => dropStrayEntries(end))
    const slice = `SELECT ctid FROM usage_default WHERE started_at < ? LIMIT ${STRAY_ROWS_MAX}`
    while ((await this.db.run(`DELETE FROM usage_default WHERE ctid = ANY (ARRAY(${slice}))`, end)) > 0);
  }

  private async tables(): Promise<string[]> {
    const rows = await this.db.all<{ name: string }>(PARTITIONS)
    return rows.map(({ name }) => name)
  }

  /** False if it is not one's turn, or a table is in use all the time: there are months of time to try again. */
  private async attempt(work: () => Work<boolean>, turn: string = UNLESS_OTHERS): Promise<boolean> {
    try {
      return await this.db.patiently(UPKEEP_MS_MAX, function* () {
        const row = yield* ask.get<{ is_ours: boolean }>(turn)
        return row?.is_ours === true && (yield* work())
      })
    } catch (error) {
      if (error instanceof StoreUnavailable) return false
      throw error
    }
  }
}

const PARTITIONS = `
  SELECT CAST(c.relname AS TEXT) AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent IN (CAST('usage' AS REGCLASS), CAST('entries' AS REGCLASS))`

const nameOf = (table: Table, month: Month): string => `${table}_${month.name}`

/** All months from one time to another, within a transaction: for who brings rows of old times. */
export function* makeMonths(from: number, to: number): Work<void> {
  for (const month of monthsBetween(from, to)) {
    for (const table of TABLES) yield* makeMonth(table, month)
  }
}

/** Attached, and not made in place, which would stop everybody: only what has no month is locked, and is all but empty. */
function* makeMonth(table: Table, month: Month): Work<boolean> {
  const name = nameOf(table, month)
  const known = yield* ask.get<{ is_there: boolean }>('SELECT to_regclass(?) IS NOT NULL AS is_there', name)
  if (known?.is_there) return false
  const column = PARTITIONED[table]
  yield* ask.run(`CREATE TABLE ${name} (LIKE ${table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`)
  yield* brieflyLocked(`LOCK TABLE ${table}_default IN ACCESS EXCLUSIVE MODE`)
  yield* ask.run(
    `WITH moved AS (
       DELETE FROM ${table}_default WHERE ${column} >= ${month.from} AND ${column} < ${month.to} RETURNING *
     )
     INSERT INTO ${name} SELECT * FROM moved`,
  )
  yield* ask.run(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM (${month.from}) TO (${month.to})`)
  return true
}

function* dropUsage(name: string): Work<boolean> {
  yield* brieflyLocked(`DROP TABLE ${name}`)
  return true
}

function* dropEntries(name: string): Work<boolean> {
  // Nothing may be added while its sums are made; everybody can still read.
  yield* brieflyLocked(`LOCK TABLE ${name} IN SHARE MODE`)
  const end = monthOfTable(name)?.to ?? 0
  const hasRows = yield* sumUp(name, end)
  yield* brieflyLocked(`ALTER TABLE entries DETACH PARTITION ${name}`)
  if (hasRows) yield* keepRest(name, end)
  yield* ask.run(`DROP TABLE ${name}`)
  return true
}

function* dropStrayEntries(end: number): Work<boolean> {
  const hasRows = yield* sumUp('entries_default', end)
  if (hasRows) yield* removeGone('entries_default', end)
  return hasRows
}
