import { SQL, type TransactionSQL } from 'bun'
import type { Audit } from '../core/records.ts'
import { StoreUnavailable } from '../core/store.ts'
import { SqlAudit } from '../store/audit.ts'
import { isUnavailable } from '../store/postgres/errors.ts'
import { OneTransaction } from '../store/postgres/one-transaction.ts'
import { makeMonths } from '../store/postgres/partitions.ts'
import { endWhereOneWrites } from '../store/usage-end.ts'
import type { Slice, TimeRange } from './source.ts'
import { MOVED_TABLES, type MovedTable } from './tables.ts'

const CONNECT_SECONDS_MAX = 5
/** Whoever uses the target does not want a move into it. */
const LOCK_MS_MAX = 5_000

/** One connection without limits of time: what is copied, counted and checked at once is as large as the source. */
const SETTINGS = `
  SET LOCAL statement_timeout = 0;
  SET LOCAL idle_in_transaction_session_timeout = 0;
  SET LOCAL lock_timeout = ${LOCK_MS_MAX};
  SET LOCAL client_min_messages = warning`

/** Everything in one transaction, which ends with `work`: until then nobody sees any of it, and if it fails it never was. */
export async function intoTarget<T>(url: string, work: (target: MoveTarget) => Promise<T>): Promise<T> {
  const sql = new SQL({
    ...{ url, adapter: 'postgres', bigint: true, max: 1 },
    ...{ connectionTimeout: CONNECT_SECONDS_MAX, connection: { application_name: 'duet move' } },
  })
  try {
    return await sql.begin(async tx => {
      await tx.unsafe(SETTINGS)
      return work(new MoveTarget(tx))
    })
  } catch (error) {
    if (isUnavailable(error)) throw new StoreUnavailable('the database is away', { cause: error })
    throw error
  } finally {
    await sql.close({ timeout: 0 })
  }
}

/** Why nothing was moved. The target is as it was. */
export class MoveRefused extends Error {}

export class MoveTarget {
  readonly db: OneTransaction
  readonly audit: Audit
  private readonly tx: TransactionSQL

  constructor(tx: TransactionSQL) {
    this.tx = tx
    this.db = new OneTransaction(tx)
    // Nobody else writes to what we have locked, and our own transaction would be waited for for ever.
    this.audit = new SqlAudit(this.db, endWhereOneWrites)
  }

  /** From here on nobody else writes to it: a Duet that starts now waits, and finds everything. */
  async lock(): Promise<void> {
    try {
      await this.tx.unsafe(`LOCK TABLE ${[...MOVED_TABLES, 'holds'].join(', ')} IN EXCLUSIVE MODE`)
    } catch (error) {
      if (isUnavailable(error)) throw new MoveRefused('somebody else is using the database', { cause: error })
      throw error
    }
  }

  /** The tables that have rows. */
  async filled(): Promise<string[]> {
    const rows = [...MOVED_TABLES, 'holds'].map(
      table => `SELECT '${table}' AS name WHERE EXISTS (SELECT FROM ${table})`,
    )
    return (await this.db.all<{ name: string }>(rows.join(' UNION ALL '))).map(({ name }) => name)
  }

  /** A place for rows of each of these months. */
  async makeMonths({ from, to }: TimeRange): Promise<void> {
    await this.db.transaction(() => makeMonths(from, to))
  }

  /** Returns how many rows were stored. */
  async copy(table: MovedTable, columns: readonly string[], slices: Iterable<Slice>): Promise<number> {
    const query = this.tx.unsafe(`COPY ${table} (${columns.join(', ')}) FROM STDIN`)
    const writer = query.writable().getWriter()
    for (const { text } of slices) await writer.write(text)
    await writer.close()
    return Number((await query).count)
  }

  /** What follows from the rows, and is kept beside them. */
  async complete(): Promise<void> {
    await this.tx.unsafe(DEPOSITS)
    await this.tx.unsafe(SEQUENCES)
    // A server that has never seen these tables would plan as if they were small.
    await this.tx.unsafe(`ANALYZE ${MOVED_TABLES.join(', ')}`)
  }
}

const DEPOSITS = `
  INSERT INTO deposits (account_id, kind, source, seq, amount, balance, note, at, hash)
  SELECT account_id, kind, source, seq, amount, balance, note, at, hash FROM entries WHERE kind <> 'charge'`

/** The next number is above all that were moved. */
const SEQUENCES = `
  SELECT setval('usage_id_seq', coalesce((SELECT max(id) FROM usage), 1), EXISTS (SELECT FROM usage)),
         setval(pg_get_serial_sequence('prices', 'id'), coalesce((SELECT max(id) FROM prices), 1),
                EXISTS (SELECT FROM prices))`
