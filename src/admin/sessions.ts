import type { Directory } from '../core/directory.ts'
import { newHex, newSecret } from '../core/ids.ts'
import type { People, Session, User } from '../core/people.ts'
import type { Sealer } from '../core/seal.ts'
import { viewAccount } from './accounts.ts'
import { list } from './contract/common.ts'
import { SessionRowView, SessionView } from './contract.ts'
import { AdminError, notFound } from './failure.ts'
import { read } from './input.ts'
import { refuseOtherSites } from './origin.ts'
import { hashPassword, isPassword } from './password.ts'
import { NEW_PASSWORD, SIGN_IN } from './people-input.ts'
import { type Actor, type AdminCall, type AdminReply, done, ok, type Routes } from './route.ts'
import type { SignInLimits } from './sign-in-limits.ts'
import { viewUser } from './user-view.ts'

export interface SessionsDeps {
  readonly people: People
  readonly directory: Directory
  readonly sealer: Sealer
  readonly clock: () => number
  readonly signIns: SignInLimits
  /** For the operator to see who comes in, and who tries to. */
  readonly log: { info(message: string, fields: Readonly<Record<string, unknown>>): void }
  readonly version: string
  /** Where callers and people find this Duet, without a path. */
  publicUrl(): string
  isSandbox(): boolean
  /** Others may work on the same store. */
  readonly isReplicated: boolean
}

const DAY_MS = 86_400_000
/** Whoever stays away for so long signs in again. */
const SESSION_MS = 14 * DAY_MS
/** However busy: a session that somebody else got hold of must end at some time. */
const SESSION_MS_MAX = 90 * DAY_MS
/** A sign of life is written down at most this often. */
const SIGHTING_MS = 60_000
const CLIENT_CHARACTERS_MAX = 200
/** As many as a list to choose from can have. */
const ACCOUNTS_MAX = 500

// ── beginning ───────────────────────────────────────────────────────────────────────────────────────────────────────

async function signIn(call: AdminCall, body: unknown, deps: SessionsDeps): Promise<AdminReply> {
  refuseOtherSites(call)
  const { name, password } = read(SIGN_IN, body)
  const user = await deps.people.userNamed(name)
  const hash = user?.enabled ? user.password : undefined
  const isRight = await checkPassword({ name, password, hash, address: call.address }, deps)
  // A name that nobody has may be a password in the wrong field.
  deps.log.info(isRight ? 'signed in' : 'sign-in failed', { user: user?.name ?? 'unknown', address: call.address })
  // One answer for a wrong name, a wrong password and a user who was shut out.
  if (!user || !isRight) throw wrongLogin()
  return begin(user, call, deps)
}

const wrongLogin = () => new AdminError(401, 'invalid_login', 'name or password is wrong')

interface Check {
  readonly name: string
  readonly password: string
  readonly hash: string | undefined
  readonly address: string
}

/** Within the limits of how often one may be wrong. */
async function checkPassword({ name, password, hash, address }: Check, { signIns }: SessionsDeps): Promise<boolean> {
  const attempt = await signIns.begin(name, address)
  const isRight = await isPassword(password, hash).catch(async error => {
    await attempt.takenBack()
    throw error
  })
  if (isRight) await attempt.succeeded()
  return isRight
}

/** Signs a user in: the token goes into a cookie, and nothing but its signature into the store. */
export async function begin(user: User, call: AdminCall, deps: SessionsDeps): Promise<AdminReply> {
  const now = deps.clock()
  const token = newSecret()
  const session: Session = {
    id: `ses_${newHex(10)}`,
    userId: user.id,
    createdAt: now,
    ...sightingOf(call, { now, createdAt: now }),
  }
  // Not if the password was changed, or the user shut out, since it was checked.
  const isMade = await deps.people.createSession({ ...session, tokenHash: deps.sealer.sign(token) }, user.password)
  if (!isMade) throw wrongLogin()
  const actor: Actor = { role: user.role, user, sessionId: session.id, renewal: undefined }
  return { status: 201, body: await viewSession(actor, deps), session: cookieFor(token, session, now) }
}

interface Moment {
  readonly now: number
  readonly createdAt: number
}

const sightingOf = ({ address, client }: AdminCall, { now, createdAt }: Moment) => ({
  lastSeenAt: now,
  expiresAt: Math.min(now + SESSION_MS, createdAt + SESSION_MS_MAX),
  address,
  client: client.slice(0, CLIENT_CHARACTERS_MAX),
})

/** The browser keeps it for as long as the session lasts. */
const cookieFor = (token: string, { expiresAt }: Pick<Session, 'expiresAt'>, now: number) => ({
  token,
  seconds: Math.floor((expiresAt - now) / 1000),
})

// ── using ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Who the cookie belongs to. */
export async function findSession(call: AdminCall, deps: SessionsDeps): Promise<Actor | undefined> {
  if (call.session === undefined) return undefined
  const now = deps.clock()
  const found = await deps.people.session(deps.sealer.sign(call.session), now)
  if (!found) return undefined
  const { user, session } = found
  const renewal = await renew(call.session, session, { call, deps })
  return { role: user.role, user, sessionId: session.id, renewal }
}

/** Who is seen stays signed in; the store and the browser are told so now and then. */
async function renew(token: string, session: Session, { call, deps }: { call: AdminCall; deps: SessionsDeps }) {
  const now = deps.clock()
  if (now - session.lastSeenAt < SIGHTING_MS) return undefined
  const sighting = sightingOf(call, { now, createdAt: session.createdAt })
  await deps.people.seen(session.id, sighting)
  return cookieFor(token, sighting, now)
}

async function viewSession({ role, user }: Actor, deps: SessionsDeps): Promise<SessionView> {
  const account = user && (await deps.directory.account(user.accountId))
  const isAll = role === 'admin'
  const { rows } = isAll ? await deps.directory.accounts({ cursor: undefined, limit: ACCOUNTS_MAX }) : { rows: [] }
  const accounts = account && !rows.some(({ id }) => id === account.id) ? [account, ...rows] : rows
  return {
    user: user ? viewUser(user) : null,
    role,
    account: account ? viewAccount(account) : null,
    accounts: accounts.map(({ id, name }) => ({ id, name })),
    version: deps.version,
    base_url: `${deps.publicUrl()}/v1`,
    is_sandbox: deps.isSandbox(),
    is_replicated: deps.isReplicated,
  }
}

// ── ending ──────────────────────────────────────────────────────────────────────────────────────────────────────────

async function changePassword(call: AdminCall, body: unknown, { user, sessionId }: Actor, deps: SessionsDeps) {
  const { current, password } = read(NEW_PASSWORD, body)
  if (!user) throw nobody()
  const check = { name: user.name, password: current, hash: user.password, address: call.address }
  if (!(await checkPassword(check, deps))) {
    throw new AdminError(403, 'wrong_password', 'the current password is wrong', { param: 'current' })
  }
  await deps.people.changeUser(user.id, { password: await hashPassword(password) })
  await deps.people.endSessions(user.id, sessionId)
}

const nobody = () => new AdminError(403, 'forbidden', 'the admin token is nobody: sign in to have sessions of your own')

async function listSessions({ user, sessionId }: Actor, { people, clock }: SessionsDeps) {
  const sessions = user ? await people.sessions(user.id, clock()) : []
  return { data: sessions.map(session => viewSessionRow(session, sessionId)), next: null }
}

const viewSessionRow = (session: Session, currentId: string | undefined): SessionRowView => ({
  id: session.id,
  created_at: new Date(session.createdAt).toISOString(),
  last_seen_at: new Date(session.lastSeenAt).toISOString(),
  expires_at: new Date(session.expiresAt).toISOString(),
  address: session.address,
  client: session.client,
  current: session.id === currentId,
})

export const sessionRoutes: Routes<SessionsDeps> = {
  'POST /session': {
    access: 'open',
    summary: 'Sign in with name and password; the answer sets a cookie',
    body: SIGN_IN,
    answers: { 201: SessionView },
    errors: [401, 429],
    handle: async ({ call, json, deps }) => signIn(call, await json(), deps),
  },
  'GET /session': {
    access: 'member',
    summary: 'Who is asking',
    answers: { 200: SessionView },
    handle: async ({ actor, deps }) => ok(await viewSession(actor, deps)),
  },
  'DELETE /session': {
    access: 'member',
    summary: 'Sign out',
    answers: { 204: null },
    handle: async ({ actor: { user, sessionId }, deps }) => {
      if (user && sessionId !== undefined) await deps.people.endSession(user.id, sessionId)
      return { status: 204, session: 'ended' }
    },
  },
  'PUT /session/password': {
    access: 'member',
    summary: 'Change the own password; every other session of the user ends',
    body: NEW_PASSWORD,
    answers: { 204: null },
    errors: [429],
    handle: async ({ call, json, actor, deps }) => {
      await changePassword(call, await json(), actor, deps)
      return done
    },
  },
  'GET /sessions': {
    access: 'member',
    summary: 'Where the user is signed in',
    answers: { 200: list(SessionRowView) },
    handle: async ({ actor, deps }) => ok(await listSessions(actor, deps)),
  },
  'DELETE /sessions': {
    access: 'member',
    summary: 'Sign out everywhere else',
    answers: { 204: null },
    handle: async ({ actor: { user, sessionId }, deps }) => {
      if (!user) throw nobody()
      await deps.people.endSessions(user.id, sessionId)
      return done
    },
  },
  'DELETE /sessions/*': {
    access: 'member',
    summary: 'Sign out somewhere',
    answers: { 204: null },
    handle: async ({ ids: [id = ''], actor: { user, sessionId }, deps }) => {
      if (!user || !(await deps.people.endSession(user.id, id))) throw notFound(`session ${id}`)
      return id === sessionId ? { status: 204, session: 'ended' } : done
    },
  },
}
