import type { NewAccount, Page, PageRequest } from '../core/directory.ts'
import type {
  Acceptance,
  Invite,
  InviteKind,
  NewInvite,
  NewUser,
  People,
  Role,
  Session,
  Sighting,
  SignedIn,
  User,
  UserChanges,
} from '../core/people.ts'
import type { EmbeddedDatabase } from './database.ts'
import { page } from './page.ts'
import { toNumber } from './rows.ts'

const USERS = 'SELECT u.*, a.name AS account_name FROM users u JOIN accounts a ON a.id = u.account_id'
const INVITES = `
  SELECT i.*, a.name AS account_name, u.name AS user_name FROM invites i
  LEFT JOIN accounts a ON a.id = i.account_id LEFT JOIN users u ON u.id = i.user_id`

/** Of one user; nobody has more browsers. */
const SESSIONS_MAX = 50

/** People on the embedded database. */
export class SqlitePeople implements People {
  private readonly db: EmbeddedDatabase

  constructor(db: EmbeddedDatabase) {
    this.db = db
  }

  // ── users ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async hasUsers(): Promise<boolean> {
    return this.db.get('SELECT 1 FROM users LIMIT 1') !== undefined
  }

  async user(id: string): Promise<User | undefined> {
    return this.findUser('u.id = ?', id)
  }

  async userNamed(name: string): Promise<User | undefined> {
    return this.findUser('u.name = ?', name)
  }

  async users({ cursor, limit }: PageRequest): Promise<Page<User>> {
    const rows = this.db.all<UserRow>(`${USERS} WHERE u.id > ? ORDER BY u.id LIMIT ?`, cursor ?? '', limit + 1)
    return page(rows, limit, { map: toUser, cursorOf: row => row.id })
  }

  async changeUser(id: string, changes: UserChanges): Promise<User | 'unknown' | 'name-taken' | 'last-admin'> {
    return this.db.transaction(() => {
      const before = this.findUser('u.id = ?', id)
      if (!before) return 'unknown'
      const { name, role, enabled, password } = { ...before, ...changes }
      if (this.isTaken(name, id)) return 'name-taken'
      if (canAdminister(before) && !canAdminister({ role, enabled }) && !this.hasOtherAdmin(id)) return 'last-admin'
      this.db.run(
        'UPDATE users SET name = ?, role = ?, enabled = ?, password = ? WHERE id = ?',
        ...[name, role, enabled ? 1 : 0, password, id],
      )
      if (!enabled) {
        this.db.run('DELETE FROM sessions WHERE user_id = ?', id)
        this.db.run('DELETE FROM invites WHERE user_id = ? AND used_at IS NULL', id)
      }
      return { ...before, name, role, enabled, password }
    })
  }

  private findUser(condition: string, value: string): User | undefined {
    const row = this.db.get<UserRow>(`${USERS} WHERE ${condition}`, value)
    return row && toUser(row)
  }

  private isTaken(name: string, exceptId: string): boolean {
    return this.db.get('SELECT 1 FROM users WHERE name = ? AND id <> ?', name, exceptId) !== undefined
  }

  private hasOtherAdmin(exceptId: string): boolean {
    const sql = `SELECT 1 FROM users WHERE role = 'admin' AND enabled = 1 AND id <> ? LIMIT 1`
    return this.db.get(sql, exceptId) !== undefined
  }

  // ── invitations ─────────────────────────────────────────────────────────────────────────────────────────────────

  async createInvite(invite: NewInvite): Promise<Invite> {
    const { id, tokenHash, kind, role, accountId, userId, name, createdAt, expiresAt } = invite
    return this.db.transaction(() => {
      // A new password is set by the latest link alone.
      if (userId !== undefined) this.db.run('DELETE FROM invites WHERE user_id = ? AND used_at IS NULL', userId)
      this.db.run(
        `INSERT INTO invites (id, token_hash, kind, role, account_id, user_id, name, created_at, expires_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[id, tokenHash, kind, role, accountId ?? null, userId ?? null, name ?? null, createdAt, expiresAt],
      )
      return toInvite(this.db.get<InviteRow>(`${INVITES} WHERE i.id = ?`, id) as InviteRow)
    })
  }

  async invites(now: number): Promise<readonly Invite[]> {
    const sql = `${INVITES} WHERE i.used_at IS NULL AND i.expires_at > ? ORDER BY i.created_at DESC`
    return this.db.all<InviteRow>(sql, now).map(toInvite)
  }

  async invite(tokenHash: string, now: number): Promise<Invite | undefined> {
    return this.findInvite(tokenHash, now)
  }

  async hadInvite(kind: InviteKind): Promise<boolean> {
    return this.db.get('SELECT 1 FROM invites WHERE kind = ? LIMIT 1', kind) !== undefined
  }

  async revokeInvite(id: string): Promise<boolean> {
    return this.db.run('DELETE FROM invites WHERE id = ? AND used_at IS NULL', id) > 0
  }

  async accept(tokenHash: string, user: Omit<NewUser, 'role' | 'accountId'>, account: NewAccount): Promise<Acceptance> {
    return this.db.transaction((): Acceptance => {
      const invite = this.findInvite(tokenHash, user.createdAt)
      if (!invite || invite.kind === 'reset') return { refused: 'unknown' }
      if (this.isTaken(user.name, '')) return { refused: 'name-taken' }
      const accountId = invite.accountId ?? this.insertAccount(account)
      if (accountId === undefined) return { refused: 'account-taken' }
      this.db.run(
        'INSERT INTO users (id, name, role, account_id, password, created_at) VALUES (?, ?, ?, ?, ?, ?)',
        ...[user.id, user.name, invite.role, accountId, user.password, user.createdAt],
      )
      this.useUp(invite, user.createdAt)
      return { user: this.findUser('u.id = ?', user.id) as User }
    })
  }

  async reset(tokenHash: string, password: string, now: number): Promise<User | undefined> {
    return this.db.transaction(() => {
      const invite = this.findInvite(tokenHash, now)
      if (invite?.kind !== 'reset' || invite.userId === undefined) return undefined
      const isSet = this.db.run('UPDATE users SET password = ? WHERE id = ? AND enabled = 1', password, invite.userId)
      if (isSet === 0) return undefined
      // Whoever knew the old password may be signed in with it.
      this.db.run('DELETE FROM sessions WHERE user_id = ?', invite.userId)
      this.useUp(invite, now)
      return this.findUser('u.id = ?', invite.userId)
    })
  }

  private findInvite(tokenHash: string, now: number): Invite | undefined {
    const sql = `${INVITES} WHERE i.token_hash = ? AND i.used_at IS NULL AND i.expires_at > ?`
    const row = this.db.get<InviteRow>(sql, tokenHash, now)
    return row && toInvite(row)
  }

  private insertAccount({ id, name, group, createdAt }: NewAccount): string | undefined {
    const sql = 'INSERT INTO accounts (id, name, grp, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'
    return this.db.run(sql, id, name, group, createdAt) > 0 ? id : undefined
  }

  private useUp({ id }: Invite, now: number): void {
    this.db.run('UPDATE invites SET used_at = ? WHERE id = ?', now, id)
  }

  // ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────

  async createSession(session: Session & { readonly tokenHash: string }, password: string): Promise<boolean> {
    const { id, tokenHash, userId, createdAt, lastSeenAt, expiresAt, address, client } = session
    return this.db.transaction(() => {
      const isMade = this.db.run(
        `INSERT INTO sessions (id, token_hash, user_id, created_at, last_seen_at, expires_at, address, client)
         SELECT ?, ?, id, ?, ?, ?, ?, ? FROM users WHERE id = ? AND password = ? AND enabled = 1`,
        ...[id, tokenHash, createdAt, lastSeenAt, expiresAt, address, client, userId, password],
      )
      if (isMade === 0) return false
      this.db.run(
        `DELETE FROM sessions WHERE user_id = ? AND id NOT IN
           (SELECT id FROM sessions WHERE user_id = ? ORDER BY last_seen_at DESC LIMIT ?)`,
        ...[userId, userId, SESSIONS_MAX],
      )
      this.db.run('UPDATE users SET last_seen_at = ? WHERE id = ?', lastSeenAt, userId)
      return true
    })
  }

  async session(tokenHash: string, now: number): Promise<SignedIn | undefined> {
    const row = this.db.get<SessionRow>(
      'SELECT * FROM sessions WHERE token_hash = ? AND expires_at > ?',
      tokenHash,
      now,
    )
    const user = row && this.findUser('u.enabled = 1 AND u.id = ?', row.user_id)
    return row && user && { session: toSession(row), user }
  }

  async seen(sessionId: string, { lastSeenAt, expiresAt, address, client }: Sighting): Promise<void> {
    this.db.run(
      'UPDATE sessions SET last_seen_at = ?, expires_at = ?, address = ?, client = ? WHERE id = ?',
      ...[lastSeenAt, expiresAt, address, client, sessionId],
    )
    this.db.run(
      'UPDATE users SET last_seen_at = ? WHERE id = (SELECT user_id FROM sessions WHERE id = ?)',
      lastSeenAt,
      sessionId,
    )
  }

  async sessions(userId: string, now: number): Promise<readonly Session[]> {
    const sql = 'SELECT * FROM sessions WHERE user_id = ? AND expires_at > ? ORDER BY last_seen_at DESC'
    return this.db.all<SessionRow>(sql, userId, now).map(toSession)
  }

  async endSession(userId: string, sessionId: string): Promise<boolean> {
    return this.db.run('DELETE FROM sessions WHERE user_id = ? AND id = ?', userId, sessionId) > 0
  }

  async endSessions(userId: string, except: string | undefined): Promise<void> {
    this.db.run('DELETE FROM sessions WHERE user_id = ? AND id <> ?', userId, except ?? '')
  }

  async sweep(now: number): Promise<void> {
    this.db.run('DELETE FROM sessions WHERE expires_at <= ?', now)
    // The first one stays, used or not: it tells a later start that the operator was shown a way in.
    this.db.run(`DELETE FROM invites WHERE kind <> 'first' AND expires_at <= ?`, now)
  }
}

const canAdminister = ({ role, enabled }: Pick<User, 'role' | 'enabled'>): boolean => role === 'admin' && enabled

interface UserRow {
  readonly id: string
  readonly name: string
  readonly role: string
  readonly account_id: string
  readonly account_name: string
  readonly password: string
  readonly enabled: bigint
  readonly created_at: bigint
  readonly last_seen_at: bigint | null
}

const toUser = (row: UserRow): User => ({
  id: row.id,
  name: row.name,
  role: row.role as Role,
  accountId: row.account_id,
  accountName: row.account_name,
  password: row.password,
  enabled: row.enabled === 1n,
  createdAt: Number(row.created_at),
  lastSeenAt: toNumber(row.last_seen_at),
})

interface InviteRow {
  readonly id: string
  readonly kind: string
  readonly role: string
  readonly account_id: string | null
  readonly account_name: string | null
  readonly user_id: string | null
  readonly user_name: string | null
  readonly name: string | null
  readonly created_at: bigint
  readonly expires_at: bigint
}

const toInvite = (row: InviteRow): Invite => ({
  id: row.id,
  kind: row.kind as InviteKind,
  role: row.role as Role,
  accountId: row.account_id ?? undefined,
  accountName: row.account_name ?? undefined,
  userId: row.user_id ?? undefined,
  name: row.user_name ?? row.name ?? undefined,
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
})

interface SessionRow {
  readonly id: string
  readonly user_id: string
  readonly created_at: bigint
  readonly last_seen_at: bigint
  readonly expires_at: bigint
  readonly address: string
  readonly client: string
}

const toSession = (row: SessionRow): Session => ({
  id: row.id,
  userId: row.user_id,
  createdAt: Number(row.created_at),
  lastSeenAt: Number(row.last_seen_at),
  expiresAt: Number(row.expires_at),
  address: row.address,
  client: row.client,
})
