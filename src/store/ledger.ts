import { type AccountState, Book, type BookReader, type KeyState } from '../core/book.ts'
import type { Deposit, Entry, Hold, LedgerOperation, LedgerOutcome, LedgerStore, Survivors } from '../core/ledger.ts'
import { nanos } from '../core/money.ts'
import type { EmbeddedDatabase } from './database.ts'
import {
  type AccountRow,
  ENTRIES_WITH_PRICES,
  type EntryRow,
  type HoldRow,
  type KeyRow,
  toEntry,
  toHold,
} from './rows.ts'
import { LedgerWriter } from './writer.ts'

/** Money on the embedded database: a batch is read, decided in memory, and written, in one transaction. */
export class SqliteLedger implements LedgerStore, BookReader {
  private readonly db: EmbeddedDatabase
  private readonly writer: LedgerWriter
  private readonly selectAccount
  private readonly selectKey
  private readonly selectHold
  /** Holds that this process took: the file is ours alone, so they need not be read again. */
  private readonly open = new Map<string, Hold>()

  constructor(db: EmbeddedDatabase) {
    this.db = db
    this.writer = new LedgerWriter(db)
    this.selectAccount = db.prepare<AccountRow>('SELECT * FROM accounts WHERE id = ?')
    this.selectKey = db.prepare<KeyRow>('SELECT * FROM keys WHERE id = ?')
    this.selectHold = db.prepare<HoldRow>('SELECT * FROM holds WHERE request_id = ?')
  }

  async commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    const book = new Book(this)
    const outcomes = this.write(batch, book)
    for (const [requestId, hold] of book.taken) this.open.set(requestId, hold)
    for (const [requestId, hold] of book.changed) {
      if (hold) this.open.set(requestId, hold)
      else this.open.delete(requestId)
    }
    return outcomes
  }

  private write(batch: readonly LedgerOperation[], book: Book): LedgerOutcome[] {
    try {
      return this.db.transaction(() => {
        const decided = batch.map(operation => book.apply(operation))
        this.writer.write(book)
        return decided
      })
    } catch (error) {
      // Whatever has become of it, the file knows.
      this.open.clear()
      throw error
    }
  }

  account(id: string): AccountState | undefined {
    const row = this.selectAccount.get(id)
    if (!row) return undefined
    const { balance, held, spent, entries, head } = row
    return { id, balance: nanos(balance), held: nanos(held), spent: nanos(spent), entries: Number(entries), head }
  }

  key(id: string): KeyState | undefined {
    const row = this.selectKey.get(id)
    if (!row) return undefined
    const isUsable = row.enabled === 1n && row.revoked_at === null
    const cap = row.cap === null ? undefined : nanos(row.cap)
    return { id, cap, isUsable, spent: nanos(row.spent), held: nanos(row.held) }
  }

  hold(requestId: string): Hold | undefined {
    const known = this.open.get(requestId)
    if (known) return known
    const row = this.selectHold.get(requestId)
    return row ? toHold(row) : undefined
  }

  isRecorded(requestId: string): boolean {
    return this.db.get('SELECT 1 FROM usage WHERE request_id = ?', requestId) !== undefined
  }

  deposit({ accountId, kind, source }: Deposit): Entry | undefined {
    const row = this.db.get<EntryRow>(
      `${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.source = ? AND e.kind = ? AND e.kind <> 'charge'`,
      accountId,
      source,
      kind,
    )
    return row && toEntry(row)
  }

  /** The file is locked to this process, so whoever else owns a hold is dead, whatever its lease says. */
  abandoned({ owner, underWay }: Survivors): readonly Hold[] {
    const holds = this.db.all<HoldRow>('SELECT * FROM holds').map(toHold)
    return holds.filter(hold => hold.owner !== owner || !underWay.has(hold.requestId))
  }
}
