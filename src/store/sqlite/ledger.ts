import { type AccountState, Book, type BookReader, type KeyState } from '../../core/book.ts'
import type { Deposit, Entry, Hold, LedgerOperation, LedgerOutcome, LedgerStore, Survivors } from '../../core/ledger.ts'
import { nanos } from '../../core/money.ts'
import {
  type AccountRow,
  ENTRIES_WITH_PRICES,
  type EntryRow,
  type HoldRow,
  type KeyRow,
  toEntry,
  toHold,
} from '../rows.ts'
import { rowsOf } from './book-rows.ts'
import type { EmbeddedDatabase } from './database.ts'
import { Journal } from './journal.ts'
import { Pending } from './pending.ts'
import { LedgerWriter } from './writer.ts'

/** Rows that are brought into their tables together. More would cost each a little less, and keep others waiting longer. */
const FOLD_ROWS = 100

/**
 * Money on the embedded database. A batch is decided in memory and written down in the journal, as one row; the journal
 * is folded into the tables when it has grown, before anybody else reads or writes, and at the start. So the tables are
 * always right for whoever looks at them, and a request costs a fraction of what writing to all of them each time would.
 */
export class SqliteLedger implements LedgerStore, BookReader {
  private readonly db: EmbeddedDatabase
  private readonly writer: LedgerWriter
  private readonly journal: Journal
  private readonly foldRows: number
  private readonly selectAccount
  private readonly selectKey
  private readonly selectHold
  private readonly selectRecord
  private readonly selectNewest
  /** What is in the journal. Undefined where only the file knows: at the start, and after a write that failed. */
  private pending: Pending | undefined
  private isFolding = false
  /** Accounts and keys as the journal leaves them. Until it is folded, nobody else can have changed them. */
  private accounts = new Map<string, AccountState>()
  private keys = new Map<string, KeyState>()
  /** Holds that this process took: the file is ours alone, so they need not be read again. */
  private readonly open = new Map<string, Hold>()
  /** Requests that took a hold, or have a record, since the journal was folded; and the greatest id that there was before. */
  private readonly newIds = new Set<string>()
  private newestId = ''

  constructor(db: EmbeddedDatabase, foldRows = FOLD_ROWS) {
    this.db = db
    this.foldRows = foldRows
    this.writer = new LedgerWriter(db)
    this.journal = new Journal(db)
    this.selectAccount = db.prepare<AccountRow>('SELECT * FROM accounts WHERE id = ?')
    this.selectKey = db.prepare<KeyRow>('SELECT * FROM keys WHERE id = ?')
    this.selectHold = db.prepare<HoldRow>('SELECT * FROM holds WHERE request_id = ?')
    this.selectRecord = db.prepare<unknown>('SELECT 1 FROM usage WHERE request_id = ?')
    this.selectNewest = db.prepare<{ id: string }>(NEWEST_ID)
    db.beforeOthers(() => this.fold())
    this.fold()
  }

  async commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    const book = new Book(this)
    const outcomes = batch.every(isOfEveryRequest) ? this.writeDown(batch, book) : this.writeOut(batch, book)
    for (const [requestId, hold] of book.taken) this.open.set(requestId, hold)
    for (const [requestId, hold] of book.changed) {
      if (hold) this.open.set(requestId, hold)
      else this.open.delete(requestId)
    }
    for (const requestId of book.taken.keys()) this.newIds.add(requestId)
    for (const { closing } of book.records) this.newIds.add(closing.requestId)
    return outcomes
  }

  // ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Into the journal: what every request does. */
  private writeDown(batch: readonly LedgerOperation[], book: Book): LedgerOutcome[] {
    if (!this.pending || this.pending.size >= this.foldRows) this.fold()
    const decided = batch.map(operation => book.apply(operation))
    if (!book.hasChanges) return decided
    for (const requestId of book.taken.keys()) this.refuseKnown(requestId)
    const rows = rowsOf(book)
    this.orForget(() => this.journal.append(rows))
    this.pending?.add(rows)
    for (const [id, account] of book.accounts) this.accounts.set(id, account)
    for (const [id, key] of book.keys) this.keys.set(id, key)
    if (this.isDue) setImmediate(() => this.foldIfDue())
    return decided
  }

  /** Into the tables at once, as all that is rare. */
  private writeOut(batch: readonly LedgerOperation[], book: Book): LedgerOutcome[] {
    this.fold()
    return this.orForget(() =>
      this.db.atomically(() => {
        const decided = batch.map(operation => book.apply(operation))
        for (const lease of book.renewals) this.writer.renew(lease)
        this.writer.write(new Pending().add(rowsOf(book)))
        for (const { closing } of book.records) if (closing.answer) this.writer.keepAnswer(closing.answer)
        return decided
      }),
    )
  }

  /** Brings what is in the journal into the tables. Both happen in one transaction, so that each row is written once. */
  private fold(): void {
    if (this.isFolding) return
    const isKnown = this.pending !== undefined
    const pending = this.pending ?? this.journal.read()
    this.pending = pending
    if (!pending.isEmpty) this.foldAll(pending)
    // What only the file knew may have ids that nobody here has seen: of a write that was reported as failed.
    if (!isKnown) this.newestId = this.selectNewest.get()?.id ?? ''
    this.accounts.clear()
    this.keys.clear()
    for (const id of this.newIds) if (id > this.newestId) this.newestId = id
    this.newIds.clear()
  }

  private foldAll(pending: Pending): void {
    this.isFolding = true
    try {
      this.orForget(() =>
        this.db.atomically(() => {
          this.writer.write(pending)
          this.journal.clear()
        }),
      )
    } finally {
      this.isFolding = false
    }
    this.pending = new Pending()
  }

  private get isDue(): boolean {
    return this.pending !== undefined && this.pending.size >= this.foldRows
  }

  private foldIfDue(): void {
    if (!this.isDue) return
    try {
      this.fold()
    } catch {
      // Nothing is lost, it is in the journal. Whoever comes next tries again, and is told if it fails again.
    }
  }

  /** A write that fails may have been written: whatever has become of it, the file knows. */
  private orForget<T>(write: () => T): T {
    try {
      return write()
    } catch (error) {
      this.pending = undefined
      this.accounts.clear()
      this.keys.clear()
      this.open.clear()
      throw error
    }
  }

  /**
   * What is in the journal must go into the tables later on, and no request has two holds or two records there. Ids begin
   * with their time, so that hardly any has to be looked up.
   */
  private refuseKnown(requestId: string): void {
    const mayBeThere = requestId <= this.newestId || this.newIds.has(requestId)
    if (!mayBeThere || !(this.hold(requestId) || this.isRecorded(requestId))) return
    throw new Error(`request ${requestId} was there before`)
  }

  // ── what a book reads ─────────────────────────────────────────────────────────────────────────────────────────────

  account(id: string): AccountState | undefined {
    const known = this.accounts.get(id)
    // A copy: a batch that cannot be written must leave no trace.
    if (known) return { ...known }
    const row = this.selectAccount.get(id)
    if (!row) return undefined
    const { balance, held, spent, entries, head } = row
    return { id, balance: nanos(balance), held: nanos(held), spent: nanos(spent), entries: Number(entries), head }
  }

  key(id: string): KeyState | undefined {
    const known = this.keys.get(id)
    if (known) return { ...known }
    const row = this.selectKey.get(id)
    if (!row) return undefined
    const isUsable = row.enabled === 1n && row.revoked_at === null
    const cap = row.cap === null ? undefined : nanos(row.cap)
    return { id, cap, isUsable, spent: nanos(row.spent), held: nanos(row.held) }
  }

  hold(requestId: string): Hold | undefined {
    const known = this.open.get(requestId)
    if (known || this.pending?.changed.has(requestId)) return known
    const row = this.selectHold.get(requestId)
    return row ? toHold(row) : undefined
  }

  isRecorded(requestId: string): boolean {
    const isPending = this.pending?.usage.some(([id]) => id === requestId)
    return isPending || this.selectRecord.get(requestId) !== null
  }

  deposit({ accountId, kind, source }: Deposit): Entry | undefined {
    const row = this.db.first<EntryRow>(
      `${ENTRIES_WITH_PRICES} WHERE e.account_id = ? AND e.source = ? AND e.kind = ? AND e.kind <> 'charge'`,
      accountId,
      source,
      kind,
    )
    return row && toEntry(row)
  }

  /** The file is locked to this process, so whoever else owns a hold is dead, whatever its lease says. */
  abandoned({ owner, underWay }: Survivors): readonly Hold[] {
    const holds = this.db.rows<HoldRow>('SELECT * FROM holds').map(toHold)
    return holds.filter(hold => hold.owner !== owner || !underWay.has(hold.requestId))
  }
}

const NEWEST_ID = `
  SELECT max(coalesce((SELECT max(request_id) FROM usage), ''), coalesce((SELECT max(request_id) FROM holds), '')) AS id`

/** Money for a call, more of it, and the end. An answer that is kept for a while is too much for the journal. */
function isOfEveryRequest(operation: LedgerOperation): boolean {
  const { type } = operation
  return type === 'hold' || type === 'extend' || (type === 'settle' && !operation.closing.answer)
}
