import type { EmbeddedDatabase } from './database.ts'
import { Pending, type Rows } from './pending.ts'

/**
 * What was decided and is not in its tables yet: one row for each batch, in one table that is read only after the
 * process has died or a write has failed. Writing a batch down here is one small write, whatever it has changed.
 */
export class Journal {
  private readonly insert
  private readonly select
  private readonly deleteAll

  constructor(db: EmbeddedDatabase) {
    this.insert = db.prepare('INSERT INTO journal (batch) VALUES (?)')
    this.select = db.prepare<{ batch: string }>('SELECT batch FROM journal ORDER BY id')
    this.deleteAll = db.prepare('DELETE FROM journal')
  }

  /** Durable when this returns: a statement by itself is a transaction. */
  append(rows: Rows): void {
    this.insert.run(JSON.stringify(rows))
  }

  /** All that was appended since it was cleared, in that order. */
  read(): Pending {
    const pending = new Pending()
    for (const { batch } of this.select.all()) pending.add(JSON.parse(batch) as Rows)
    return pending
  }

  /** In the transaction that brings the rows into their tables. */
  clear(): void {
    this.deleteAll.run()
  }
}
