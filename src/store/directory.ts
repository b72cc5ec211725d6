import type {
  Account,
  Caller,
  Directory,
  Key,
  KeyChanges,
  NewAccount,
  NewKey,
  Page,
  PageRequest,
} from '../core/directory.ts'
import type { EmbeddedDatabase } from './database.ts'
import { page } from './page.ts'
import { type AccountRow, type KeyRow, toAccount, toKey, toNumber } from './rows.ts'

const ACCOUNT_NAME = '(SELECT a.name FROM accounts a WHERE a.id = keys.account_id) AS account_name'

interface CallerRow {
  readonly id: string
  readonly account_id: string
  readonly grp: string
  readonly models: string | null
  readonly is_admins: bigint
  readonly keep_days: bigint | null
  readonly max_concurrent: bigint | null
  readonly max_per_minute: bigint | null
  readonly expires_at: bigint | null
}

interface KnownCaller {
  readonly caller: Caller
  readonly expiresAt: number
}

/** Some megabytes, for more keys than are in use at once. */
const CALLERS_MAX = 10_000

/** Accounts and keys on the embedded database. */
export class SqliteDirectory implements Directory {
  private readonly db: EmbeddedDatabase
  /** When keys were used since it was last written down: a write for each request would be a high price for a date. */
  private readonly usedAt = new Map<string, number>()
  /** Who was let in, by the hash of their secret. The file is ours alone: whatever changes a key goes through here. */
  private readonly callers = new Map<string, KnownCaller>()
  private readonly selectCaller

  constructor(db: EmbeddedDatabase) {
    this.db = db
    // Of keys and accounts, these columns are none that the ledger writes.
    this.selectCaller = db.prepare<CallerRow>(
      `SELECT k.id, k.account_id, a.grp, k.models, k.is_admins, k.keep_days, k.max_concurrent, k.max_per_minute,
              k.expires_at
       FROM keys k JOIN accounts a ON a.id = k.account_id
       WHERE k.secret_hash = ? AND k.enabled = 1 AND k.revoked_at IS NULL`,
    )
  }

  // ── accounts ────────────────────────────────────────────────────────────────────────────────────────────────────

  async createAccount(account: NewAccount, firstKey?: NewKey): Promise<Account | undefined> {
    return this.db.transaction(() => {
      const created = this.insertAccount(account)
      if (created && firstKey) this.insertKey(firstKey)
      return created
    })
  }

  private insertAccount({ id, name, group, createdAt }: NewAccount): Account | undefined {
    const row = this.db.get<AccountRow>(
      `INSERT INTO accounts (id, name, grp, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING *`,
      id,
      name,
      group,
      createdAt,
    )
    return row && toAccount(row)
  }

  async account(idOrName: string): Promise<Account | undefined> {
    const row = this.db.get<AccountRow>(
      'SELECT * FROM accounts WHERE id = ? OR name = ? ORDER BY id = ? DESC LIMIT 1',
      idOrName,
      idOrName,
      idOrName,
    )
    return row && toAccount(row)
  }

  async accounts({ cursor, limit }: PageRequest): Promise<Page<Account>> {
    const rows = this.db.all<AccountRow>(
      'SELECT * FROM accounts WHERE id > ? ORDER BY id LIMIT ?',
      cursor ?? '',
      limit + 1,
    )
    return page(rows, limit, { map: toAccount, cursorOf: row => row.id })
  }

  // ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────

  async authenticate(secretHash: string, now: number): Promise<Caller | undefined> {
    const known = this.callers.get(secretHash) ?? this.readCaller(secretHash)
    if (!known || known.expiresAt <= now) return undefined
    this.usedAt.set(known.caller.keyId, now)
    return known.caller
  }

  private readCaller(secretHash: string): KnownCaller | undefined {
    const row = this.selectCaller.get(secretHash)
    if (!row) return undefined
    const known = { caller: toCaller(row), expiresAt: toNumber(row.expires_at) ?? Number.POSITIVE_INFINITY }
    if (this.callers.size >= CALLERS_MAX) this.callers.clear()
    this.callers.set(secretHash, known)
    return known
  }

  async createKey(key: NewKey): Promise<Key> {
    return this.insertKey(key)
  }

  async keyCount(accountId: string): Promise<number> {
    const sql = 'SELECT count(*) AS n FROM keys WHERE account_id = ? AND revoked_at IS NULL'
    return Number(this.db.get<{ n: bigint }>(sql, accountId)?.n)
  }

  private insertKey(key: NewKey): Key {
    const row = this.db.get<KeyRow>(
      `INSERT INTO keys (id, account_id, name, secret_hash, hint, cap, models, expires_at, max_concurrent,
                         max_per_minute, created_at, kind, is_admins)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *, ${ACCOUNT_NAME}`,
      key.id,
      key.accountId,
      key.name,
      key.secretHash,
      key.hint,
      key.cap ?? null,
      key.models ? JSON.stringify(key.models) : null,
      key.expiresAt ?? null,
      key.maxConcurrent ?? null,
      key.maxPerMinute ?? null,
      key.createdAt,
      key.kind ?? 'api',
      key.isAdmins ? 1 : 0,
    )
    return this.toKey(row as KeyRow)
  }

  async key(id: string): Promise<Key | undefined> {
    const row = this.db.get<KeyRow>(`SELECT *, ${ACCOUNT_NAME} FROM keys WHERE id = ? AND revoked_at IS NULL`, id)
    return row && this.toKey(row)
  }

  async keyNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = this.db.all<{ id: string; name: string }>(
      'SELECT id, name FROM keys WHERE id IN (SELECT value FROM json_each(?))',
      JSON.stringify([...new Set(ids)]),
    )
    return new Map(rows.map(({ id, name }) => [id, name]))
  }

  async keys({ accountId, cursor, limit }: { accountId?: string } & PageRequest): Promise<Page<Key>> {
    const rows = this.db.all<KeyRow>(
      `SELECT *, ${ACCOUNT_NAME} FROM keys
       WHERE revoked_at IS NULL AND kind = 'api' AND id > ? AND (? IS NULL OR account_id = ?) ORDER BY id LIMIT ?`,
      cursor ?? '',
      accountId ?? null,
      accountId ?? null,
      limit + 1,
    )
    return page(rows, limit, { map: row => this.toKey(row), cursorOf: row => row.id })
  }

  async changeKey(id: string, changes: KeyChanges): Promise<Key | undefined> {
    // Playground keys stay as they are: one without a limit would be a key that no list shows.
    const before = this.db.get<KeyRow>(
      `SELECT *, ${ACCOUNT_NAME} FROM keys WHERE id = ? AND revoked_at IS NULL AND kind = 'api'`,
      id,
    )
    if (!before) return undefined
    this.callers.clear()
    // Without a pause since it was read: a change of something else must not be undone by this one.
    const after = { ...toKey(before), ...changes }
    const row = this.db.get<KeyRow>(
      `UPDATE keys SET name = ?, cap = ?, models = ?, expires_at = ?, enabled = ?, keep_days = ?, max_concurrent = ?,
                       max_per_minute = ?
       WHERE id = ? RETURNING *, ${ACCOUNT_NAME}`,
      after.name,
      after.cap ?? null,
      after.models ? JSON.stringify(after.models) : null,
      after.expiresAt ?? null,
      after.enabled ? 1 : 0,
      after.keepDays ?? null,
      after.maxConcurrent ?? null,
      after.maxPerMinute ?? null,
      id,
    )
    return this.toKey(row as KeyRow)
  }

  async revokeKey(id: string, now: number): Promise<boolean> {
    this.callers.clear()
    return this.db.run('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', now, id) > 0
  }

  async keepPlaygroundKeys(accountId: string, count: number, now: number): Promise<void> {
    this.callers.clear()
    this.db.run(
      `UPDATE keys SET revoked_at = ? WHERE id IN (
         SELECT id FROM keys WHERE account_id = ? AND kind = 'playground' AND revoked_at IS NULL
         ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET ?)`,
      now,
      accountId,
      count,
    )
  }

  async keepLastUsed(): Promise<void> {
    if (this.usedAt.size === 0) return
    this.db.transaction(() => {
      for (const [id, at] of this.usedAt) this.db.run('UPDATE keys SET last_used_at = ? WHERE id = ?', at, id)
    })
    this.usedAt.clear()
  }

  private toKey(row: KeyRow): Key {
    const key = toKey(row)
    return { ...key, lastUsedAt: this.usedAt.get(key.id) ?? key.lastUsedAt }
  }
}

const toCaller = (row: CallerRow): Caller => ({
  keyId: row.id,
  accountId: row.account_id,
  group: row.grp,
  models: row.models === null ? undefined : (JSON.parse(row.models) as string[]),
  isAdmins: row.is_admins === 1n,
  keepDays: toNumber(row.keep_days),
  maxConcurrent: toNumber(row.max_concurrent),
  maxPerMinute: toNumber(row.max_per_minute),
})
