import type { TransactionSQL } from 'bun'
import type { Database, Value, Work } from '../database.ts'
import { execute, POSTGRES, perform } from './database.ts'

/** The port within a transaction that is under way: for work that is looked at before it is there for anybody else. */
export class OneTransaction implements Database {
  readonly dialect = POSTGRES
  private readonly tx: TransactionSQL

  constructor(tx: TransactionSQL) {
    this.tx = tx
  }

  async get<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    const { rows } = await execute(this.tx, { sql, values })
    return rows[0] as Row | undefined
  }

  async all<Row>(sql: string, ...values: Value[]): Promise<readonly Row[]> {
    const { rows } = await execute(this.tx, { sql, values })
    return rows as readonly Row[]
  }

  async run(sql: string, ...values: Value[]): Promise<number> {
    const { changes } = await execute(this.tx, { sql, values })
    return changes
  }

  peek<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return this.get<Row>(sql, ...values)
  }

  transaction<T>(work: () => Work<T>): Promise<T> {
    return perform(this.tx, work())
  }

  snapshot<T>(work: () => Work<T>): Promise<T> {
    return perform(this.tx, work())
  }
}
