import { Database } from 'bun:sqlite'
import { MIGRATIONS } from './migrations.ts'

export interface DatabaseOptions {
  readonly path: string
  /** `process` survives `kill -9`; `power` waits for the disk and survives a pulled plug. */
  readonly durability: 'process' | 'power'
}

export type Value = string | number | bigint | null

/** The embedded database. One process owns the file, so what it reads inside a transaction is the truth. */
export class EmbeddedDatabase {
  private readonly db: Database

  constructor({ path, durability }: DatabaseOptions) {
    this.db = new Database(path, { create: true, strict: true, safeIntegers: true })
    // Two gateways on one file would each release the other's holds: the second one must not start.
    this.db.run('PRAGMA locking_mode = EXCLUSIVE')
    this.db.run('PRAGMA journal_mode = WAL')
    this.db.run(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`)
    this.db.run('PRAGMA foreign_keys = ON')
    this.migrate()
  }

  /** The one row, or undefined. */
  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return (this.db.query<Row, Value[]>(sql).get(...values) as Row | null) ?? undefined
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.db.query<Row, Value[]>(sql).all(...values)
  }

  /** Returns how many rows were changed. */
  run(sql: string, ...values: Value[]): number {
    return this.db.query<unknown, Value[]>(sql).run(...values).changes
  }

  /** All of it or nothing. */
  transaction<T>(work: () => T): T {
    return this.db.transaction(work).immediate()
  }

  close(): void {
    this.db.close()
  }

  private migrate(): void {
    const { user_version: done = 0n } = this.get<{ user_version: bigint }>('PRAGMA user_version') ?? {}
    if (done > MIGRATIONS.length) throw new Error('the database was written by a newer version of Duet')
    this.transaction(() => {
      for (const sql of MIGRATIONS.slice(Number(done))) this.db.run(sql)
      this.db.run(`PRAGMA user_version = ${MIGRATIONS.length}`)
    })
  }
}
