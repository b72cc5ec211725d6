import { Database } from 'bun:sqlite'
import { admit, atLeastZero } from '../core/admission.ts'
import { nanos, ZERO } from '../core/money.ts'
import type {
  Account,
  Caller,
  Entry,
  HoldOutcome,
  HoldRequest,
  Key,
  KeyChanges,
  LedgerOperation,
  LedgerOutcome,
  NewKey,
  Page,
  PageRequest,
  Settled,
  Store,
  TopUp,
  TopUpOutcome,
  UsageRecord,
} from '../core/ports.ts'
import { MIGRATIONS } from './migrations.ts'
import { type AccountRow, type EntryRow, type KeyRow, toAccount, toEntry, toKey } from './rows.ts'

export interface SqliteOptions {
  readonly path: string
  /** `process` survives `kill -9`; `power` waits for the disk and survives a pulled plug. */
  readonly durability: 'process' | 'power'
}

type Value = string | number | bigint | null

/** The embedded store. One process owns the file, so what it reads inside a transaction is the truth. */
export class SqliteStore implements Store {
  private readonly db: Database

  constructor({ path, durability }: SqliteOptions) {
    this.db = new Database(path, { create: true, strict: true, safeIntegers: true })
    // Two gateways on one file would each release the other's holds: the second one must not start.
    this.db.run('PRAGMA locking_mode = EXCLUSIVE')
    this.db.run('PRAGMA journal_mode = WAL')
    this.db.run(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`)
    this.db.run('PRAGMA foreign_keys = ON')
    this.migrate()
  }

  close(): void {
    this.db.close()
  }

  // ── ledger ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    return this.db.transaction(() => batch.map(operation => this.apply(operation))).immediate()
  }

  async releaseAbandoned(now: number): Promise<number> {
    return this.db
      .transaction(() => {
        const holds = this.all<HoldRow & { request_id: string }>('SELECT * FROM holds')
        for (const hold of holds) {
          this.releaseHold(hold.request_id, hold)
          this.recordInterrupted(hold, now)
        }
        return holds.length
      })
      .immediate()
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
    this.run('INSERT INTO holds VALUES (?, ?, ?, ?, ?)', requestId, accountId, keyId, amount, at)
    this.run('UPDATE accounts SET held = held + ? WHERE id = ?', amount, accountId)
    this.run('UPDATE keys SET held = held + ?, last_used_at = ? WHERE id = ?', amount, at, keyId)
    return outcome
  }

  private funds(accountId: string, keyId: string) {
    const row = this.get<FundsRow>(
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
    const hold = this.get<HoldRow>('SELECT * FROM holds WHERE request_id = ?', requestId)
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
    this.run('UPDATE accounts SET balance = balance - ?, spent = spent + ? WHERE id = ?', cost, cost, accountId)
    this.run('UPDATE keys SET spent = spent + ? WHERE id = ?', cost, keyId)
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
    this.run('DELETE FROM holds WHERE request_id = ?', requestId)
    this.run('UPDATE accounts SET held = held - ? WHERE id = ?', amount, account_id)
    this.run('UPDATE keys SET held = held - ? WHERE id = ?', amount, key_id)
  }

  private recordUsage(record: UsageRecord): void {
    const { usage } = record
    this.run(
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
    this.run(
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
    const before = this.get<EntryRow>(
      `SELECT * FROM entries WHERE account_id = ? AND kind = 'topup' AND source = ?`,
      accountId,
      source,
    )
    if (before) return { applied: false, entry: toEntry(before) }
    if (!this.get('SELECT 1 FROM accounts WHERE id = ?', accountId)) return undefined
    this.run('UPDATE accounts SET balance = balance + ? WHERE id = ?', amount, accountId)
    const entry = this.addEntry({ accountId, kind: 'topup', amount, source, keyId: undefined, note, at })
    return { applied: true, entry }
  }

  private addEntry(entry: Omit<Entry, 'id' | 'balance'>): Entry {
    const { accountId, kind, amount, source, keyId, note, at } = entry
    const row = this.get<EntryRow>(
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

  // ── accounts ────────────────────────────────────────────────────────────────────────────────────────────────────

  async createAccount(account: Pick<Account, 'id' | 'name' | 'group' | 'createdAt'>): Promise<Account | undefined> {
    const { id, name, group, createdAt } = account
    const row = this.get<AccountRow>(
      `INSERT INTO accounts (id, name, grp, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING *`,
      id,
      name,
      group,
      createdAt,
    )
    return row && toAccount(row)
  }

  async account(idOrName: string): Promise<Account | undefined> {
    const row = this.get<AccountRow>(
      'SELECT * FROM accounts WHERE id = ? OR name = ? ORDER BY id = ? DESC LIMIT 1',
      idOrName,
      idOrName,
      idOrName,
    )
    return row && toAccount(row)
  }

  async accounts({ cursor, limit }: PageRequest): Promise<Page<Account>> {
    const rows = this.all<AccountRow>(
      'SELECT * FROM accounts WHERE id > ? ORDER BY id LIMIT ?',
      cursor ?? '',
      limit + 1,
    )
    return page(rows, limit, { map: toAccount, cursorOf: row => row.id })
  }

  async entries(accountId: string, { cursor, limit }: PageRequest): Promise<Page<Entry>> {
    const rows = this.all<EntryRow>(
      'SELECT * FROM entries WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ?',
      accountId,
      cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor),
      limit + 1,
    )
    return page(rows, limit, { map: toEntry, cursorOf: row => String(row.id) })
  }

  // ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────

  async authenticate(secretHash: string, now: number): Promise<Caller | undefined> {
    const row = this.get<{ id: string; account_id: string; grp: string; models: string | null }>(
      `SELECT k.id, k.account_id, a.grp, k.models FROM keys k JOIN accounts a ON a.id = k.account_id
       WHERE k.secret_hash = ? AND k.enabled = 1 AND k.revoked_at IS NULL
         AND (k.expires_at IS NULL OR k.expires_at > ?)`,
      secretHash,
      now,
    )
    if (!row) return undefined
    const models = row.models === null ? undefined : (JSON.parse(row.models) as string[])
    return { keyId: row.id, accountId: row.account_id, group: row.grp, models }
  }

  async createKey(key: NewKey): Promise<Key> {
    const row = this.get<KeyRow>(
      `INSERT INTO keys (id, account_id, name, secret_hash, hint, cap, models, expires_at, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *`,
      key.id,
      key.accountId,
      key.name,
      key.secretHash,
      key.hint,
      key.cap ?? null,
      key.models ? JSON.stringify(key.models) : null,
      key.expiresAt ?? null,
      key.createdAt,
    )
    return toKey(row as KeyRow)
  }

  async key(id: string): Promise<Key | undefined> {
    const row = this.get<KeyRow>('SELECT * FROM keys WHERE id = ? AND revoked_at IS NULL', id)
    return row && toKey(row)
  }

  async keys({ accountId, cursor, limit }: { accountId?: string } & PageRequest): Promise<Page<Key>> {
    const rows = this.all<KeyRow>(
      `SELECT * FROM keys WHERE revoked_at IS NULL AND id > ? AND (? IS NULL OR account_id = ?) ORDER BY id LIMIT ?`,
      cursor ?? '',
      accountId ?? null,
      accountId ?? null,
      limit + 1,
    )
    return page(rows, limit, { map: toKey, cursorOf: row => row.id })
  }

  async changeKey(id: string, changes: KeyChanges): Promise<Key | undefined> {
    const key = await this.key(id)
    if (!key) return undefined
    const { name, cap, models, expiresAt, enabled } = { ...key, ...changes }
    const row = this.get<KeyRow>(
      `UPDATE keys SET name = ?, cap = ?, models = ?, expires_at = ?, enabled = ? WHERE id = ? RETURNING *`,
      name,
      cap ?? null,
      models ? JSON.stringify(models) : null,
      expiresAt ?? null,
      enabled ? 1 : 0,
      id,
    )
    return toKey(row as KeyRow)
  }

  async revokeKey(id: string, now: number): Promise<boolean> {
    return this.run('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', now, id) > 0
  }

  // ── the database itself ─────────────────────────────────────────────────────────────────────────────────────────

  private migrate(): void {
    const { user_version: done = 0n } = this.get<{ user_version: bigint }>('PRAGMA user_version') ?? {}
    if (done > MIGRATIONS.length) throw new Error('the database was written by a newer version of Duet')
    this.db
      .transaction(() => {
        for (const sql of MIGRATIONS.slice(Number(done))) this.db.run(sql)
        this.db.run(`PRAGMA user_version = ${MIGRATIONS.length}`)
      })
      .immediate()
  }

  private get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return (this.db.query<Row, Value[]>(sql).get(...values) as Row | null) ?? undefined
  }

  private all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.db.query<Row, Value[]>(sql).all(...values)
  }

  private run(sql: string, ...values: Value[]): number {
    return this.db.query<unknown, Value[]>(sql).run(...values).changes
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

/** One row more than asked for tells whether there is a next page. */
function page<Row, T>(
  rows: readonly Row[],
  limit: number,
  { map, cursorOf }: { map: (row: Row) => T; cursorOf: (row: Row) => string },
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { rows: shown.map(map), next: rows.length > limit && last !== undefined ? cursorOf(last) : undefined }
}
