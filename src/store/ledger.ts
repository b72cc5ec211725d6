import { admit } from '../core/admission.ts'
import { atLeastZero, nanos, ZERO } from '../core/money.ts'
import type {
  Entry,
  HoldOutcome,
  HoldRequest,
  LedgerOperation,
  LedgerOutcome,
  LedgerStore,
  Settled,
  TopUp,
  TopUpOutcome,
  UsageRecord,
} from '../core/ports.ts'
import type { EmbeddedDatabase } from './database.ts'
import { type EntryRow, toEntry } from './rows.ts'

/** Money on the embedded database. */
export class SqliteLedger implements LedgerStore {
  private readonly db: EmbeddedDatabase

  constructor(db: EmbeddedDatabase) {
    this.db = db
  }

  async commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    return this.db.transaction(() => batch.map(operation => this.apply(operation)))
  }

  async releaseAbandoned(now: number): Promise<number> {
    return this.db.transaction(() => {
      const holds = this.db.all<HoldRow & { request_id: string }>('SELECT * FROM holds')
      for (const hold of holds) {
        this.releaseHold(hold.request_id, hold)
        this.recordInterrupted(hold, now)
      }
      return holds.length
    })
  }

  private apply(operation: LedgerOperation): LedgerOutcome {
    switch (operation.type) {
      case 'hold':
        return this.hold(operation.request)
      case 'settle':
        return { type: 'settled', settled: this.settle(operation.record) }
      case 'top-up':
        return { type: 'topped-up', outcome: this.topUp(operation.topUp) }
    }
  }

  private hold(request: HoldRequest): HoldOutcome {
    const { requestId, accountId, keyId, at } = request
    const outcome = admit(this.funds(accountId, keyId), request)
    if (outcome.type !== 'held') return outcome
    const { amount } = outcome
    this.db.run('INSERT INTO holds VALUES (?, ?, ?, ?, ?)', requestId, accountId, keyId, amount, at)
    this.db.run('UPDATE accounts SET held = held + ? WHERE id = ?', amount, accountId)
    this.db.run('UPDATE keys SET held = held + ?, last_used_at = ? WHERE id = ?', amount, at, keyId)
    return outcome
  }

  private funds(accountId: string, keyId: string) {
    const row = this.db.get<FundsRow>(
      `SELECT a.balance, a.held AS account_held, k.cap, k.spent AS key_spent, k.held AS key_held
       FROM accounts a JOIN keys k ON k.account_id = a.id WHERE a.id = ? AND k.id = ?`,
      accountId,
      keyId,
    )
    if (!row) throw new Error(`no account ${accountId} with key ${keyId}`)
    return {
      balance: nanos(row.balance),
      accountHeld: nanos(row.account_held),
      cap: row.cap === null ? undefined : nanos(row.cap),
      keySpent: nanos(row.key_spent),
      keyHeld: nanos(row.key_held),
    }
  }

  private settle(record: UsageRecord): Settled {
    const { requestId, accountId, keyId, cost } = record
    const hold = this.db.get<HoldRow>('SELECT * FROM holds WHERE request_id = ?', requestId)
    // Without its hold the request was settled before: a repeat must not charge again.
    if (hold) {
      this.releaseHold(requestId, hold)
      if (cost > ZERO) this.charge(record)
      this.recordUsage(record)
    }
    const { balance, cap, keySpent } = this.funds(accountId, keyId)
    const keyRemaining = cap === undefined ? undefined : atLeastZero(nanos(cap - keySpent))
    return { balance, keyRemaining }
  }

  private charge({ requestId, accountId, keyId, cost, startedAt, durationMs }: UsageRecord): void {
    this.db.run('UPDATE accounts SET balance = balance - ?, spent = spent + ? WHERE id = ?', cost, cost, accountId)
    this.db.run('UPDATE keys SET spent = spent + ? WHERE id = ?', cost, keyId)
    this.addEntry({
      accountId,
      kind: 'charge',
      amount: nanos(-cost),
      source: requestId,
      keyId,
      note: undefined,
      at: startedAt + durationMs,
    })
  }

  private releaseHold(requestId: string, { account_id, key_id, amount }: HoldRow): void {
    this.db.run('DELETE FROM holds WHERE request_id = ?', requestId)
    this.db.run('UPDATE accounts SET held = held - ? WHERE id = ?', amount, account_id)
    this.db.run('UPDATE keys SET held = held - ? WHERE id = ?', amount, key_id)
  }

  private recordUsage(record: UsageRecord): void {
    const { usage } = record
    this.db.run(
      'INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      record.requestId,
      record.accountId,
      record.keyId,
      record.model,
      record.channel,
      record.protocol,
      record.upstreamProtocol,
      record.stream ? 1 : 0,
      record.status,
      usage.input,
      usage.cacheRead,
      usage.cacheWrite,
      usage.output,
      usage.reasoning,
      record.source,
      record.cost,
      record.held,
      record.startedAt,
      record.firstByteMs ?? null,
      record.durationMs,
    )
  }

  private recordInterrupted(hold: HoldRow & { request_id: string }, now: number): void {
    const { request_id, account_id, key_id, amount, at } = hold
    this.db.run(
      `INSERT INTO usage VALUES (?, ?, ?, '', '', '', '', 0, 'interrupted', 0, 0, 0, 0, 0, 'estimated', 0, ?, ?, NULL, ?)`,
      request_id,
      account_id,
      key_id,
      amount,
      at,
      BigInt(now) - at,
    )
  }

  private topUp({ accountId, amount, source, note, at }: TopUp): TopUpOutcome | undefined {
    const before = this.db.get<EntryRow>(
      `SELECT * FROM entries WHERE account_id = ? AND kind = 'topup' AND source = ?`,
      accountId,
      source,
    )
    if (before) return { applied: false, entry: toEntry(before) }
    if (!this.db.get('SELECT 1 FROM accounts WHERE id = ?', accountId)) return undefined
    this.db.run('UPDATE accounts SET balance = balance + ? WHERE id = ?', amount, accountId)
    const entry = this.addEntry({ accountId, kind: 'topup', amount, source, keyId: undefined, note, at })
    return { applied: true, entry }
  }

  private addEntry(entry: Omit<Entry, 'id' | 'balance'>): Entry {
    const { accountId, kind, amount, source, keyId, note, at } = entry
    const row = this.db.get<EntryRow>(
      `INSERT INTO entries (account_id, kind, amount, balance, source, key_id, note, at)
       SELECT ?, ?, ?, balance, ?, ?, ?, ? FROM accounts WHERE id = ? RETURNING *`,
      accountId,
      kind,
      amount,
      source,
      keyId ?? null,
      note ?? null,
      at,
      accountId,
    )
    return toEntry(row as EntryRow)
  }
}

interface HoldRow {
  readonly account_id: string
  readonly key_id: string
  readonly amount: bigint
  readonly at: bigint
}

interface FundsRow {
  readonly balance: bigint
  readonly account_held: bigint
  readonly cap: bigint | null
  readonly key_spent: bigint
  readonly key_held: bigint
}
