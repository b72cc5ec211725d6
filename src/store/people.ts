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
import { ask, type Database, type Work } from './database.ts'
import { page } from './page.ts'
import { toNumber } from './rows.ts'

const USERS = 'SELECT u.*, a.name AS account_name FROM users u JOIN accounts a ON a.id = u.account_id'
const INVITES = `
  SELECT i.*, a.name AS account_name, u.name AS user_name FROM invites i
  LEFT JOIN accounts a ON a.id = i.account_id LEFT JOIN users u ON u.id = i.user_id`

const OPEN_INVITE = `${INVITES} WHERE i.token_hash = ? AND i.used_at IS NULL AND i.expires_at > ?`

/** Of one user; nobody has more browsers. */
const SESSIONS_MAX = 50

/** People. */
export class SqlPeople implements People {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  // ── users ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async hasUsers(): Promise<boolean> {
    return (await this.db.get('SELECT 1 FROM users LIMIT 1')) !== undefined
  }

  async user(id: string): Promise<User | undefined> {
    const row = await this.db.get<UserRow>(`${USERS} WHERE u.id = ?`, id)
    return row && toUser(row)
  }

  async userNamed(name: string): Promise<User | undefined> {
    const row = await this.db.get<UserRow>(`${USERS} WHERE lower(u.name) = ?`, folded(name))
    return row && toUser(row)
  }

  async users({ cursor, limit }: PageRequest): Promise<Page<User>> {
    const rows = await this.db.all<UserRow>(`${USERS} WHERE u.id > ? ORDER BY u.id LIMIT ?`, cursor ?? '', limit + 1)
    return page(rows, limit, { map: toUser, cursorOf: row => row.id })
  }

  changeUser(id: string, changes: UserChanges): Promise<User | 'unknown' | 'name-taken' | 'last-admin'> {
    return this.db.transaction(() => changeUser(id, changes))
  }

  // ── invitations ─────────────────────────────────────────────────────────────────────────────────────────────────

  createInvite(invite: NewInvite): Promise<Invite> {
    return this.db.transaction(() => createInvite(invite))
  }

  async invites(now: number): Promise<readonly Invite[]> {
    const sql = `${INVITES} WHERE i.used_at IS NULL AND i.expires_at > ? ORDER BY i.created_at DESC`
    const rows = await this.db.all<InviteRow>(sql, now)
    return rows.map(toInvite)
  }

  async invite(tokenHash: string, now: number): Promise<Invite | undefined> {
    const row = await this.db.get<InviteRow>(OPEN_INVITE, tokenHash, now)
    return row && toInvite(row)
  }

  async hadInvite(kind: InviteKind): Promise<boolean> {
    return (await this.db.get('SELECT 1 FROM invites WHERE kind = ? LIMIT 1', kind)) !== undefined
  }

  async revokeInvite(id: string): Promise<boolean> {
    return (await this.db.run('DELETE FROM invites WHERE id = ? AND used_at IS NULL', id)) > 0
  }

  accept(tokenHash: string, user: Omit<NewUser, 'role' | 'accountId'>, account: NewAccount): Promise<Acceptance> {
    return this.db.transaction(() => accept(tokenHash, user, account))
  }

  reset(tokenHash: string, password: string, now: number): Promise<User | undefined> {
    return this.db.transaction(() => reset(tokenHash, password, now))
  }

  // ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────

  createSession(session: Session & { readonly tokenHash: string }, password: string): Promise<boolean> {
    return this.db.transaction(() => createSession(session, password))
  }

  async session(tokenHash: string, now: number): Promise<SignedIn | undefined> {
    const row = await this.db.get<SessionRow & SignedInRow>(
      `SELECT s.*, u.name, u.role, u.account_id, u.password, u.enabled, a.name AS account_name,
              u.created_at AS user_created_at, u.last_seen_at AS user_seen_at
       FROM sessions s JOIN users u ON u.id = s.user_id JOIN accounts a ON a.id = u.account_id
       WHERE s.token_hash = ? AND s.expires_at > ? AND u.enabled = 1`,
      tokenHash,
      now,
    )
    return row && { session: toSession(row), user: toSignedIn(row) }
  }

  async seen(sessionId: string, { lastSeenAt, expiresAt, address, client }: Sighting): Promise<void> {
    await this.db.run(
      'UPDATE sessions SET last_seen_at = ?, expires_at = ?, address = ?, client = ? WHERE id = ?',
      ...[lastSeenAt, expiresAt, address, client, sessionId],
    )
    await this.db.run(
      'UPDATE users SET last_seen_at = ? WHERE id = (SELECT user_id FROM sessions WHERE id = ?)',
      lastSeenAt,
      sessionId,
    )
  }

  async sessions(userId: string, now: number): Promise<readonly Session[]> {
    const sql = 'SELECT * FROM sessions WHERE user_id = ? AND expires_at > ? ORDER BY last_seen_at DESC'
    const rows = await this.db.all<SessionRow>(sql, userId, now)
    return rows.map(toSession)
  }

  async endSession(userId: string, sessionId: string): Promise<boolean> {
    return (await this.db.run('DELETE FROM sessions WHERE user_id = ? AND id = ?', userId, sessionId)) > 0
  }

  async endSessions(userId: string, except: string | undefined): Promise<void> {
    await this.db.run('DELETE FROM sessions WHERE user_id = ? AND id <> ?', userId, except ?? '')
  }

  async sweep(now: number): Promise<void> {
    await this.db.run('DELETE FROM sessions WHERE expires_at <= ?', now)
    // The first one stays, used or not: it tells a later start that the operator was shown a way in.
    await this.db.run(`DELETE FROM invites WHERE kind <> 'first' AND expires_at <= ?`, now)
  }
}

// ── steps that belong together ────────────────────────────────────────────────────────────────────────────────────────

function* changeUser(id: string, changes: UserChanges): Work<User | 'unknown' | 'name-taken' | 'last-admin'> {
  const before = yield* findUser(id)
  if (!before) return 'unknown'
  const { name, role, enabled, password } = { ...before, ...changes }
  if (yield* isTaken(name, id)) return 'name-taken'
  const isLeaving = canAdminister(before) && !canAdminister({ role, enabled })
  if (isLeaving && !(yield* hasOtherAdmin(id))) return 'last-admin'
  yield* ask.run(
    'UPDATE users SET name = ?, role = ?, enabled = ?, password = ? WHERE id = ?',
    ...[name, role, enabled ? 1 : 0, password, id],
  )
  if (!enabled) {
    yield* ask.run('DELETE FROM sessions WHERE user_id = ?', id)
    yield* ask.run('DELETE FROM invites WHERE user_id = ? AND used_at IS NULL', id)
  }
  return { ...before, name, role, enabled, password }
}

function* createInvite(invite: NewInvite): Work<Invite> {
  const { id, tokenHash, kind, role, accountId, userId, name, createdAt, expiresAt } = invite
  // A new password is set by the latest link alone.
  if (userId !== undefined) yield* ask.run('DELETE FROM invites WHERE user_id = ? AND used_at IS NULL', userId)
  yield* ask.run(
    `INSERT INTO invites (id, token_hash, kind, role, account_id, user_id, name, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, tokenHash, kind, role, accountId ?? null, userId ?? null, name ?? null, createdAt, expiresAt],
  )
  return toInvite((yield* ask.get<InviteRow>(`${INVITES} WHERE i.id = ?`, id)) as InviteRow)
}

function* accept(tokenHash: string, user: Omit<NewUser, 'role' | 'accountId'>, account: NewAccount): Work<Acceptance> {
  const invite = yield* findInvite(tokenHash, user.createdAt)
  if (!invite || invite.kind === 'reset') return { refused: 'unknown' }
  if (yield* isTaken(user.name, '')) return { refused: 'name-taken' }
  const accountId = invite.accountId ?? (yield* insertAccount(account))
  if (accountId === undefined) return { refused: 'account-taken' }
  yield* ask.run(
    'INSERT INTO users (id, name, role, account_id, password, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    ...[user.id, user.name, invite.role, accountId, user.password, user.createdAt],
  )
  yield* useUp(invite, user.createdAt)
  return { user: (yield* findUser(user.id)) as User }
}

function* reset(tokenHash: string, password: string, now: number): Work<User | undefined> {
  const invite = yield* findInvite(tokenHash, now)
  if (invite?.kind !== 'reset' || invite.userId === undefined) return undefined
  const isSet = yield* ask.run('UPDATE users SET password = ? WHERE id = ? AND enabled = 1', password, invite.userId)
  if (isSet === 0) return undefined
  // Whoever knew the old password may be signed in with it.
  yield* ask.run('DELETE FROM sessions WHERE user_id = ?', invite.userId)
  yield* useUp(invite, now)
  return yield* findUser(invite.userId)
}

function* createSession(session: Session & { readonly tokenHash: string }, password: string): Work<boolean> {
  const { id, tokenHash, userId, createdAt, lastSeenAt, expiresAt, address, client } = session
  const isMade = yield* ask.run(
    `INSERT INTO sessions (id, token_hash, user_id, created_at, last_seen_at, expires_at, address, client)
     SELECT ?, ?, id, ?, ?, ?, ?, ? FROM users WHERE id = ? AND password = ? AND enabled = 1`,
    ...[id, tokenHash, createdAt, lastSeenAt, expiresAt, address, client, userId, password],
  )
  if (isMade === 0) return false
  yield* ask.run(
    `DELETE FROM sessions WHERE user_id = ? AND id NOT IN
       (SELECT id FROM sessions WHERE user_id = ? ORDER BY last_seen_at DESC LIMIT ?)`,
    ...[userId, userId, SESSIONS_MAX],
  )
  yield* ask.run('UPDATE users SET last_seen_at = ? WHERE id = ?', lastSeenAt, userId)
  return true
}

function* findUser(id: string): Work<User | undefined> {
  const row = yield* ask.get<UserRow>(`${USERS} WHERE u.id = ?`, id)
  return row && toUser(row)
}

function* isTaken(name: string, exceptId: string): Work<boolean> {
  const sql = 'SELECT 1 FROM users WHERE lower(name) = ? AND id <> ?'
  return (yield* ask.get(sql, folded(name), exceptId)) !== undefined
}

function* hasOtherAdmin(exceptId: string): Work<boolean> {
  const sql = `SELECT 1 FROM users WHERE role = 'admin' AND enabled = 1 AND id <> ? LIMIT 1`
  return (yield* ask.get(sql, exceptId)) !== undefined
}

function* findInvite(tokenHash: string, now: number): Work<Invite | undefined> {
  const row = yield* ask.get<InviteRow>(OPEN_INVITE, tokenHash, now)
  return row && toInvite(row)
}

function* insertAccount({ id, name, group, createdAt }: NewAccount): Work<string | undefined> {
  const sql = 'INSERT INTO accounts (id, name, grp, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING'
  return (yield* ask.run(sql, id, name, group, createdAt)) > 0 ? id : undefined
}

function* useUp({ id }: Invite, now: number): Work<void> {
  yield* ask.run('UPDATE invites SET used_at = ? WHERE id = ?', now, id)
}

/** Latin letters count once, large or small: what `lower()` does to the rest differs between databases. */
const folded = (name: string): string => name.replace(/[A-Z]/g, letter => letter.toLowerCase())

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

/** The user of a session, under the names that are left beside it. */
interface SignedInRow extends Omit<UserRow, 'id' | 'created_at' | 'last_seen_at'> {
  readonly user_id: string
  readonly user_created_at: bigint
  readonly user_seen_at: bigint | null
}

const toSignedIn = (row: SignedInRow): User =>
  toUser({ ...row, id: row.user_id, created_at: row.user_created_at, last_seen_at: row.user_seen_at })
