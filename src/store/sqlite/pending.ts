/** The values of one row in the order of its columns: as they are bound, and as JSON has them. */
export type Row = readonly (string | number | null)[]

/** What a batch has decided, as rows that are to be written. */
export interface Rows {
  /** Holds that were taken. */
  readonly taken: readonly Row[]
  /** Holds that were there, as they are now; the id alone of one that is gone. */
  readonly changed: readonly Row[]
  readonly entries: readonly Row[]
  readonly usage: readonly Row[]
  /** To be added to the sums of their hours. */
  readonly hours: readonly Row[]
  /** What the ledger writes of an account: balance, held, spent, number of entries, last hash; and its id. */
  readonly accounts: readonly Row[]
  /** Of a key: spent, held; and its id. */
  readonly keys: readonly Row[]
}

/** The rows of several batches. A hold that was taken and is gone has left none: its table need not know of it. */
export class Pending {
  readonly taken = new Map<string, Row>()
  readonly changed = new Map<string, Row>()
  readonly entries: Row[] = []
  readonly usage: Row[] = []
  readonly hours: Row[] = []
  readonly accounts = new Map<string, Row>()
  readonly keys = new Map<string, Row>()

  add({ taken, changed, entries, usage, hours, accounts, keys }: Rows): this {
    for (const row of taken) this.taken.set(idOf(row, 0), row)
    for (const row of changed) this.change(idOf(row, 0), row)
    for (const row of entries) this.entries.push(row)
    for (const row of usage) this.usage.push(row)
    for (const row of hours) this.hours.push(row)
    for (const row of accounts) this.accounts.set(idOf(row, row.length - 1), row)
    for (const row of keys) this.keys.set(idOf(row, row.length - 1), row)
    return this
  }

  /** How many rows of holds and requests there are. */
  get size(): number {
    return this.taken.size + this.changed.size + this.usage.length
  }

  get isEmpty(): boolean {
    return this.size === 0 && this.keys.size === 0
  }

  private change(requestId: string, row: Row): void {
    if (!this.taken.has(requestId)) this.changed.set(requestId, row)
    else if (isGone(row)) this.taken.delete(requestId)
    else this.taken.set(requestId, row)
  }
}

/** Of a row of `changed`. */
export const isGone = (row: Row): boolean => row.length === 1

const idOf = (row: Row, place: number): string => row[place] as string
