/** What the store asks of a database, whichever it is. */

export type Value = string | number | bigint | Uint8Array | null

export interface Statement {
  readonly sql: string
  /** For the places marked `?`, in their order. */
  readonly values: readonly Value[]
}

export interface Result {
  readonly rows: readonly unknown[]
  /** How many rows were inserted, updated or deleted. */
  readonly changes: number
}

/**
 * Several statements that belong together: yields each of them, and is given what came of it. So one text serves a database
 * that answers at once and one that is asked over a connection.
 */
export type Work<T> = Generator<Statement, T, Result>

/** For use within a `Work`, as in `yield* ask.get<Row>('SELECT …', id)`. */
export const ask = {
  /** The one row, or undefined. */
  *get<Row>(sql: string, ...values: Value[]): Work<Row | undefined> {
    const { rows } = yield { sql, values }
    return rows[0] as Row | undefined
  },
  *all<Row>(sql: string, ...values: Value[]): Work<readonly Row[]> {
    const { rows } = yield { sql, values }
    return rows as readonly Row[]
  },
  /** Returns how many rows were changed. */
  *run(sql: string, ...values: Value[]): Work<number> {
    const { changes } = yield { sql, values }
    return changes
  },
}

export interface Database {
  readonly dialect: Dialect
  /** The one row, or undefined. */
  get<Row>(sql: string, ...values: Value[]): Promise<Row | undefined>
  all<Row>(sql: string, ...values: Value[]): Promise<readonly Row[]>
  /** Returns how many rows were changed. */
  run(sql: string, ...values: Value[]): Promise<number>
  /** Like `get`, for columns that the ledger never writes: nothing has to be brought up to date for them. */
  peek<Row>(sql: string, ...values: Value[]): Promise<Row | undefined>
  /** All of it or nothing, as if nobody else were there. May begin again from the start where somebody else was. */
  transaction<T>(work: () => Work<T>): Promise<T>
  /** Reads what was there at one moment. */
  snapshot<T>(work: () => Work<T>): Promise<T>
}

/** The few words that databases have each their own for. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** A table of one column, `value`: the elements of a JSON list, which is bound to the one `?` in it. */
  readonly list: string
  /** A condition: the column has one of the texts in a JSON list, which is bound to the one `?` in it. */
  among(column: string): string
  /** After the name of a table, where the database must be told which index to take. */
  usingIndex(index: string): string
  /** After a SELECT: its rows are locked, in its order. Whoever locks in one order does not wait in a circle. */
  readonly locking: string
  /** The column that grows with every row that is inserted. */
  readonly inserted: string
}
