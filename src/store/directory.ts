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
import { endOfTurn } from '../core/turns.ts'
import { ask, type Database, type Statement, type Value, type Work } from './database.ts'
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

/** Keys whose last use is written down without a pause. */
const SLICE_KEYS = 500

/** Of keys and accounts, these columns are none that the ledger writes. */
const CALLER = `
  SELECT k.id, k.account_id, a.grp, k.models, k.is_admins, k.keep_days, k.max_concurrent, k.max_per_minute, k.expires_at
  FROM keys k JOIN accounts a ON a.id = k.account_id
  WHERE k.secret_hash = ? AND k.enabled = 1 AND k.revoked_at IS NULL`

/** Accounts and keys. */
export class SqlDirectory implements Directory {
  private readonly db: Database
  private readonly callersDb: Database
  /** When keys were used since it was last written down: a write for each request would be a high price for a date. */
  private usedAt = new Map<string, number>()
  /** Who was let in, by the hash of their secret. */
  private callers = new Map<string, KnownCaller>()
  /** Who is being read: a hundred requests with a new key are one question. */
  private readonly reading = new Map<string, Promise<KnownCaller | undefined>>()

  constructor(db: Database, callersDb: Database = db) {
    this.db = db
    this.callersDb = callersDb
  }

  // ── accounts ────────────────────────────────────────────────────────────────────────────────────────────────────

  async createAccount(account: NewAccount, firstKey?: NewKey): Promise<Account | undefined> {
    const row = await this.db.transaction(() => insertAccount(account, firstKey))
    return row && toAccount(row)
  }

  async account(idOrName: string): Promise<Account | undefined> {
    const row = await this.db.get<AccountRow>(
      'SELECT * FROM accounts WHERE id = ? OR name = ? ORDER BY id = ? DESC LIMIT 1',
      ...[idOrName, idOrName, idOrName],
    )
    return row && toAccount(row)
  }

  async accounts({ cursor, limit }: PageRequest): Promise<Page<Account>> {
    const rows = await this.db.all<AccountRow>(
      'SELECT * FROM accounts WHERE id > ? ORDER BY id LIMIT ?',
      cursor ?? '',
      limit + 1,
    )
    return page(rows, limit, { map: toAccount, cursorOf: row => row.id })
  }

  // ── callers ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async authenticate(secretHash: string, now: number): Promise<Caller | undefined> {
    const known = this.callers.get(secretHash) ?? (await this.readOnce(secretHash))
    if (!known || known.expiresAt <= now) return undefined
    this.usedAt.set(known.caller.keyId, now)
    return known.caller
  }

  /** Keys were changed, here or by somebody else: whoever calls next is read again. */
  forgetCallers(): void {
    // A new map, and not an empty one: what is being read now may be what was there before the change.
    this.callers = new Map()
    this.reading.clear()
  }

  private readOnce(secretHash: string): Promise<KnownCaller | undefined> {
    const underWay = this.reading.get(secretHash)
    if (underWay) return underWay
    const reading = this.readCaller(secretHash).finally(() => {
      if (this.reading.get(secretHash) === reading) this.reading.delete(secretHash)
    })
    this.reading.set(secretHash, reading)
    return reading
  }

  private async readCaller(secretHash: string): Promise<KnownCaller | undefined> {
    const { callers } = this
    const row = await this.callersDb.peek<CallerRow>(CALLER, secretHash)
    if (!row) return undefined
    const known = { caller: toCaller(row), expiresAt: toNumber(row.expires_at) ?? Number.POSITIVE_INFINITY }
    if (callers.size >= CALLERS_MAX) callers.clear()
    callers.set(secretHash, known)
    return known
  }

  // ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────

  async createKey(key: NewKey): Promise<Key> {
    const { sql, values } = insertKey(key)
    const row = await this.db.get<KeyRow>(sql, ...values)
    return this.toKey(row as KeyRow)
  }

  async keyCount(accountId: string): Promise<number> {
    const sql = 'SELECT count(*) AS n FROM keys WHERE account_id = ? AND revoked_at IS NULL'
    const row = await this.db.get<{ n: bigint }>(sql, accountId)
    return Number(row?.n)
  }

  async key(id: string): Promise<Key | undefined> {
    const sql = `SELECT *, ${ACCOUNT_NAME} FROM keys WHERE id = ? AND revoked_at IS NULL`
    const row = await this.db.get<KeyRow>(sql, id)
    return row && this.toKey(row)
  }

  async keyNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.db.all<{ id: string; name: string }>(
      `SELECT id, name FROM keys WHERE ${this.db.dialect.among('id')}`,
      JSON.stringify([...new Set(ids)]),
    )
    return new Map(rows.map(({ id, name }) => [id, name]))
  }

  async keys({ accountId, cursor, limit }: { accountId?: string } & PageRequest): Promise<Page<Key>> {
    const rows = await this.db.all<KeyRow>(
      `SELECT *, ${ACCOUNT_NAME} FROM keys
       WHERE revoked_at IS NULL AND kind = 'api' AND id > ? ${accountId === undefined ? '' : 'AND account_id = ?'}
       ORDER BY id LIMIT ?`,
      ...[cursor ?? '', ...(accountId === undefined ? [] : [accountId]), limit + 1],
    )
    return page(rows, limit, { map: row => this.toKey(row), cursorOf: row => row.id })
  }

  async changeKey(id: string, changes: KeyChanges): Promise<Key | undefined> {
    // Those and no others: somebody else may be changing something else of it.
    const columns = columnsOf(changes)
    const set = columns.map(([name]) => `${name} = ?`).join(', ')
    const rows = await this.changeKeys<KeyRow>(
      // Playground keys stay as they are: one without a limit would be a key that no list shows.
      `UPDATE keys SET ${set || 'name = name'} WHERE id = ? AND revoked_at IS NULL AND kind = 'api'
       RETURNING *, ${ACCOUNT_NAME}`,
      ...columns.map(([, value]) => value),
      id,
    )
    const [row] = rows
    return row && this.toKey(row)
  }

  async revokeKey(id: string, now: number): Promise<boolean> {
    const sql = 'UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id'
    const rows = await this.changeKeys(sql, now, id)
    return rows.length > 0
  }

  async keepPlaygroundKeys(accountId: string, count: number, now: number): Promise<void> {
    const { inserted, locking } = this.db.dialect
    const open = `account_id = ? AND kind = 'playground' AND revoked_at IS NULL`
    await this.changeKeys(
      `UPDATE keys SET revoked_at = ? WHERE id IN (
         SELECT id FROM keys WHERE ${open} AND id NOT IN (
           SELECT id FROM keys WHERE ${open} ORDER BY created_at DESC, ${inserted} DESC LIMIT ?)
         ORDER BY id ${locking})
       RETURNING id`,
      ...[now, accountId, accountId, count],
    )
  }

  /** Whatever changes what a key may do. Also where it failed: nobody knows what has become of it. */
  private async changeKeys<Row>(sql: string, ...values: Value[]): Promise<readonly Row[]> {
    let changed: readonly Row[] | undefined
    try {
      changed = await this.db.all<Row>(sql, ...values)
      return changed
    } finally {
      if (changed?.length !== 0) this.forgetCallers()
    }
  }

  async keepLastUsed(): Promise<void> {
    const used = this.usedAt
    if (used.size === 0) return
    this.usedAt = new Map()
    try {
      for (const slice of slices([...used], SLICE_KEYS)) {
        await this.writeLastUsed(slice)
        await endOfTurn()
      }
    } catch (error) {
      // Next time, unless they were used again in the meantime.
      this.usedAt = new Map([...used, ...this.usedAt])
      throw error
    }
  }

  private async writeLastUsed(used: readonly (readonly [id: string, at: number])[]): Promise<void> {
    const { list, locking } = this.db.dialect
    await this.db.run(
      `WITH used AS (SELECT value ->> 0 AS id, CAST(value ->> 1 AS BIGINT) AS at FROM ${list})
       UPDATE keys SET last_used_at = later.at FROM (
         SELECT k.id, used.at FROM used JOIN keys k ON k.id = used.id
         WHERE k.last_used_at IS NULL OR k.last_used_at < used.at ORDER BY k.id ${locking}
       ) AS later
       WHERE keys.id = later.id`,
      JSON.stringify(used),
    )
  }

  private toKey(row: KeyRow): Key {
    const key = toKey(row)
    return { ...key, lastUsedAt: this.usedAt.get(key.id) ?? key.lastUsedAt }
  }
}

function* insertAccount(account: NewAccount, firstKey: NewKey | undefined): Work<AccountRow | undefined> {
  const { id, name, group, createdAt } = account
  const row = yield* ask.get<AccountRow>(
    'INSERT INTO accounts (id, name, grp, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING *',
    ...[id, name, group, createdAt],
  )
  if (row && firstKey) yield insertKey(firstKey)
  return row
}

const insertKey = (key: NewKey): Statement => ({
  sql: `INSERT INTO keys (id, account_id, name, secret_hash, hint, cap, models, expires_at, max_concurrent,
                          max_per_minute, created_at, kind, is_admins)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *, ${ACCOUNT_NAME}`,
  values: [
    key.id,
    key.accountId,
    key.name,
    key.secretHash,
    key.hint,
    key.cap ?? null,
    toModels(key.models),
    key.expiresAt ?? null,
    key.maxConcurrent ?? null,
    key.maxPerMinute ?? null,
    key.createdAt,
    key.kind ?? 'api',
    key.isAdmins ? 1 : 0,
  ],
})

/** The columns of what is changed. */
function columnsOf(changes: KeyChanges): [name: string, value: Value][] {
  const { name, cap, models, expiresAt, enabled, keepDays, maxConcurrent, maxPerMinute } = changes
  const columns: Record<keyof KeyChanges, [name: string, value: Value]> = {
    name: ['name', name ?? ''],
    cap: ['cap', cap ?? null],
    models: ['models', toModels(models)],
    expiresAt: ['expires_at', expiresAt ?? null],
    enabled: ['enabled', enabled ? 1 : 0],
    keepDays: ['keep_days', keepDays ?? null],
    maxConcurrent: ['max_concurrent', maxConcurrent ?? null],
    maxPerMinute: ['max_per_minute', maxPerMinute ?? null],
  }
  return Object.entries(columns).flatMap(([member, column]) => (member in changes ? [column] : []))
}

function* slices<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size)
}

const toModels = (models: readonly string[] | undefined): string | null => (models ? JSON.stringify(models) : null)

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
