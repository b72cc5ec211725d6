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
import { type AccountRow, type KeyRow, toAccount, toKey } from './rows.ts'

/** Accounts and keys on the embedded database. */
export class SqliteDirectory implements Directory {
  private readonly db: EmbeddedDatabase
  /** When keys were used since it was last written down: a write for each request would be a high price for a date. */
  private readonly usedAt = new Map<string, number>()

  constructor(db: EmbeddedDatabase) {
    this.db = db
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
    const row = this.db.get<{ id: string; account_id: string; grp: string; models: string | null }>(
      `SELECT k.id, k.account_id, a.grp, k.models FROM keys k JOIN accounts a ON a.id = k.account_id
       WHERE k.secret_hash = ? AND k.enabled = 1 AND k.revoked_at IS NULL
         AND (k.expires_at IS NULL OR k.expires_at > ?)`,
      secretHash,
      now,
    )
    if (!row) return undefined
    this.usedAt.set(row.id, now)
    const models = row.models === null ? undefined : (JSON.parse(row.models) as string[])
    return { keyId: row.id, accountId: row.account_id, group: row.grp, models }
  }

  async createKey(key: NewKey): Promise<Key> {
    return this.insertKey(key)
  }

  private insertKey(key: NewKey): Key {
    const row = this.db.get<KeyRow>(
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
    return this.toKey(row as KeyRow)
  }

  async key(id: string): Promise<Key | undefined> {
    const row = this.db.get<KeyRow>('SELECT * FROM keys WHERE id = ? AND revoked_at IS NULL', id)
    return row && this.toKey(row)
  }

  async keys({ accountId, cursor, limit }: { accountId?: string } & PageRequest): Promise<Page<Key>> {
    const rows = this.db.all<KeyRow>(
      `SELECT * FROM keys WHERE revoked_at IS NULL AND id > ? AND (? IS NULL OR account_id = ?) ORDER BY id LIMIT ?`,
      cursor ?? '',
      accountId ?? null,
      accountId ?? null,
      limit + 1,
    )
    return page(rows, limit, { map: row => this.toKey(row), cursorOf: row => row.id })
  }

  async changeKey(id: string, changes: KeyChanges): Promise<Key | undefined> {
    const before = this.db.get<KeyRow>('SELECT * FROM keys WHERE id = ? AND revoked_at IS NULL', id)
    if (!before) return undefined
    // Without a pause since it was read: a change of something else must not be undone by this one.
    const { name, cap, models, expiresAt, enabled } = { ...toKey(before), ...changes }
    const row = this.db.get<KeyRow>(
      `UPDATE keys SET name = ?, cap = ?, models = ?, expires_at = ?, enabled = ? WHERE id = ? RETURNING *`,
      name,
      cap ?? null,
      models ? JSON.stringify(models) : null,
      expiresAt ?? null,
      enabled ? 1 : 0,
      id,
    )
    return this.toKey(row as KeyRow)
  }

  async revokeKey(id: string, now: number): Promise<boolean> {
    return this.db.run('UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', now, id) > 0
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
