import type { NewAccount, Page, PageRequest } from './directory.ts'

/** People who sign in: who they are, where they are signed in, and the links that let them in for the first time. */

export type Role = 'admin' | 'member'

export interface User {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly accountId: string
  readonly accountName: string
  /** argon2id, with its salt and parameters. */
  readonly password: string
  readonly enabled: boolean
  readonly createdAt: number
  readonly lastSeenAt: number | undefined
}

export type NewUser = Pick<User, 'id' | 'name' | 'role' | 'accountId' | 'password' | 'createdAt'>

export type UserChanges = Partial<Pick<User, 'name' | 'role' | 'enabled' | 'password'>>

export interface Session {
  readonly id: string
  readonly userId: string
  readonly createdAt: number
  readonly lastSeenAt: number
  readonly expiresAt: number
  readonly address: string
  readonly client: string
}

export interface SignedIn {
  readonly session: Session
  readonly user: User
}

/** What is seen of a session with each use. */
export type Sighting = Pick<Session, 'lastSeenAt' | 'expiresAt' | 'address' | 'client'>

export type InviteKind = 'first' | 'invite' | 'reset'

export interface Invite {
  readonly id: string
  readonly kind: InviteKind
  readonly role: Role
  /** Undefined for an account that is made when the invitation is accepted. */
  readonly accountId: string | undefined
  readonly accountName: string | undefined
  /** Whose password is set anew. */
  readonly userId: string | undefined
  /** Of that user, or a suggestion for a new one. */
  readonly name: string | undefined
  readonly createdAt: number
  readonly expiresAt: number
}

export type NewInvite = Omit<Invite, 'accountName'> & { readonly tokenHash: string }

export type Acceptance = { readonly user: User } | { readonly refused: 'unknown' | 'name-taken' | 'account-taken' }

export interface People {
  hasUsers(): Promise<boolean>
  user(id: string): Promise<User | undefined>
  userNamed(name: string): Promise<User | undefined>
  users(page: PageRequest): Promise<Page<User>>
  /** Somebody must be able to let others in: the last admin who can sign in stays one. */
  changeUser(id: string, changes: UserChanges): Promise<User | 'unknown' | 'name-taken' | 'last-admin'>

  createInvite(invite: NewInvite): Promise<Invite>
  /** Those that can still be used. */
  invites(now: number): Promise<readonly Invite[]>
  invite(tokenHash: string, now: number): Promise<Invite | undefined>
  /** Whether there ever was one of this kind. */
  hadInvite(kind: InviteKind): Promise<boolean>
  revokeInvite(id: string): Promise<boolean>
  /** Uses an invitation up: makes its user, with an account if it brings none, in one step. */
  accept(tokenHash: string, user: Omit<NewUser, 'role' | 'accountId'>, account: NewAccount): Promise<Acceptance>
  /** The same for a new password. */
  reset(tokenHash: string, password: string, now: number): Promise<User | undefined>

  /** False if the user has another password by now, or may not sign in. Of too many sessions the oldest end. */
  createSession(session: Session & { readonly tokenHash: string }, password: string): Promise<boolean>
  session(tokenHash: string, now: number): Promise<SignedIn | undefined>
  seen(sessionId: string, sighting: Sighting): Promise<void>
  /** Most recently used first. */
  sessions(userId: string, now: number): Promise<readonly Session[]>
  endSession(userId: string, sessionId: string): Promise<boolean>
  endSessions(userId: string, except: string | undefined): Promise<void>
  /** Forgets what has expired. */
  sweep(now: number): Promise<void>
}
