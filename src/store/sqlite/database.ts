import { type Changes, type Statement as Prepared, Database as Sqlite } from 'bun:sqlite'
import type { Database, Dialect, Result, Statement, Value, Work } from '../database.ts'
import { MIGRATIONS } from './migrations.ts'

export interface DatabaseOptions {
  readonly path: string
  /** `process` survives `kill -9`; `power` waits for the disk and survives a pulled plug. */
  readonly durability: 'process' | 'power'
}

/**
 * Pages that may wait in the log before they are moved to the database (4 MB). Everyone waits meanwhile: with 64 MB a request
 * in a hundred did so for 30 milliseconds, and nobody was faster for it.
 */
const LOG_PAGES_MAX = 1_000

const SQLITE: Dialect = {
  name: 'sqlite',
  list: 'json_each(?)',
  among: column => `${column} IN (SELECT value FROM json_each(?))`,
  // Its planner knows little about how many rows there are.
  usingIndex: index => `INDEXED BY ${index}`,
  // Everybody else waits anyway.
  locking: '',
  inserted: 'rowid',
}

/**
 * The embedded database. One process owns the file, so what it reads inside a transaction is the truth. Everything here is
 * done when it returns; the promises are those of the port, for whoever need not know.
 */
export class EmbeddedDatabase implements Database {
  readonly dialect = SQLITE
  private readonly db: Sqlite
  private readonly prepared: Prepared[] = []
  private bringUpToDate: () => void = () => {}

  constructor({ path, durability }: DatabaseOptions) {
    this.db = new Sqlite(path, { create: true, strict: true, safeIntegers: true })
    // Two gateways on one file would each release the other's holds: the second one must not start.
    this.db.run('PRAGMA locking_mode = EXCLUSIVE')
    this.db.run('PRAGMA journal_mode = WAL')
    this.db.run(`PRAGMA wal_autocheckpoint = ${LOG_PAGES_MAX}`)
    this.db.run(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`)
    this.db.run('PRAGMA foreign_keys = ON')
    try {
      this.migrate()
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** For who keeps back what belongs into the file: is asked to write it before anybody else reads or writes. */
  beforeOthers(bringUpToDate: () => void): void {
    this.bringUpToDate = bringUpToDate
  }

  /** For statements on the path of every request: prepared once, and nobody is asked to bring the file up to date. */
  prepare<Row>(sql: string): Prepared<Row, Value[]> {
    const statement = this.db.prepare<Row, Value[]>(sql)
    this.prepared.push(statement)
    return statement
  }

  async get<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return this.first<Row>(sql, ...values)
  }

  async all<Row>(sql: string, ...values: Value[]): Promise<readonly Row[]> {
    return this.rows<Row>(sql, ...values)
  }

  async run(sql: string, ...values: Value[]): Promise<number> {
    return this.change(sql, ...values)
  }

  async peek<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return (this.db.query<Row, Value[]>(sql).get(...values) as Row | null) ?? undefined
  }

  async transaction<T>(work: () => Work<T>): Promise<T> {
    return this.atomically(() => this.perform(work()))
  }

  async snapshot<T>(work: () => Work<T>): Promise<T> {
    // Nobody else has a turn meanwhile.
    this.bringUpToDate()
    return this.perform(work())
  }

  // ── without promises ────────────────────────────────────────────────────────────────────────────────────────────

  /** The one row, or undefined. */
  first<Row>(sql: string, ...values: Value[]): Row | undefined {
    this.bringUpToDate()
    return (this.db.query<Row, Value[]>(sql).get(...values) as Row | null) ?? undefined
  }

  rows<Row>(sql: string, ...values: Value[]): Row[] {
    this.bringUpToDate()
    return this.db.query<Row, Value[]>(sql).all(...values)
  }

  /** Returns how many rows were changed. */
  change(sql: string, ...values: Value[]): number {
    this.bringUpToDate()
    return this.db.query<unknown, Value[]>(sql).run(...values).changes
  }

  /** Several statements without values. */
  script(sql: string): void {
    this.bringUpToDate()
    this.db.run(sql)
  }

  /** All of it or nothing. */
  atomically<T>(work: () => T): T {
    this.bringUpToDate()
    return this.db.transaction(work).immediate()
  }

  close(): void {
    try {
      this.bringUpToDate()
    } catch {
      // It is in the journal, and the next start brings it into its tables.
    }
    // A database with unfinished statements stays open, and locked, behind a close that says nothing.
    for (const statement of this.prepared) statement.finalize()
    this.db.close(true)
  }

  /** Gives a work the results of its statements, one after the other. */
  private perform<T>(work: Work<T>): T {
    let step = work.next()
    while (!step.done) step = work.next(this.execute(step.value))
    return step.value
  }

  protected execute({ sql, values }: Statement): Result {
    const statement = this.db.query<unknown, Value[]>(sql)
    if (statement.columnNames.length > 0) {
      const rows = statement.all(...values)
      return { rows, changes: rows.length }
    }
    const { changes } = statement.run(...values) as Changes
    return { rows: [], changes }
  }

  private migrate(): void {
    const { user_version: done = 0n } = this.first<{ user_version: bigint }>('PRAGMA user_version') ?? {}
    if (done > MIGRATIONS.length) throw new Error('the database was written by a newer version of Duet')
    if (done === BigInt(MIGRATIONS.length)) return
    this.atomically(() => {
      for (const migration of MIGRATIONS.slice(Number(done))) {
        if (typeof migration === 'string') this.script(migration)
        else migration(this)
      }
      this.script(`PRAGMA user_version = ${MIGRATIONS.length}`)
    })
  }
}
