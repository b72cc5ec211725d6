import type { User, UserChanges } from '../core/people.ts'
import { NewInviteView, UserList, UserView } from './contract.ts'
import { conflict, notFound } from './failure.ts'
import { read, readPage } from './input.ts'
import { type InvitesDeps, inviteBy, viewInvite } from './invites.ts'
import { USER_CHANGES } from './people-input.ts'
import { created, ok, PAGED, type Routes } from './route.ts'
import { viewUser } from './user-view.ts'

export type UsersDeps = InvitesDeps

async function listUsers(query: URLSearchParams, { people, clock }: UsersDeps): Promise<UserList> {
  const { rows, next } = await people.users(readPage(query))
  const invites = await people.invites(clock())
  return { data: rows.map(viewUser), next: next ?? null, invites: invites.map(viewInvite) }
}

/** By id or name. */
async function findUser(id: string, { people }: UsersDeps): Promise<User> {
  const user = (await people.user(id)) ?? (await people.userNamed(id))
  if (!user) throw notFound(`user ${id}`)
  return user
}

async function changeUser(id: string, body: unknown, deps: UsersDeps): Promise<UserView> {
  const changes = read(USER_CHANGES, body) as UserChanges
  const user = await findUser(id, deps)
  const changed = await deps.people.changeUser(user.id, changes)
  switch (changed) {
    case 'unknown':
      throw notFound(`user ${id}`)
    case 'name-taken':
      throw conflict(`a user named ${changes.name} exists already`, 'name')
    case 'last-admin':
      throw conflict('this is the last admin: make somebody else one first', changes.role ? 'role' : 'enabled')
    default:
      return viewUser(changed)
  }
}

async function resetPassword(id: string, deps: UsersDeps): Promise<NewInviteView> {
  const { id: userId, role, accountId, enabled } = await findUser(id, deps)
  if (!enabled) throw conflict('this user is shut out: enable them first', 'enabled')
  return inviteBy({ kind: 'reset', role, accountId, userId }, deps)
}

export const userRoutes: Routes<UsersDeps> = {
  'GET /users': {
    access: 'admin',
    summary: 'Everyone who can sign in, and the invitations that are still open',
    query: PAGED,
    answers: { 200: UserList },
    handle: async ({ call, deps }) => ok(await listUsers(call.query, deps)),
  },
  'PATCH /users/*': {
    access: 'admin',
    summary: 'Change a user, by id or name; one who is not enabled is signed out everywhere',
    body: USER_CHANGES,
    answers: { 200: UserView },
    errors: [409],
    handle: async ({ ids: [id = ''], json, deps }) => ok(await changeUser(id, await json(), deps)),
  },
  'POST /users/*/reset': {
    access: 'admin',
    summary: 'A link for a new password; the old one works until it is used',
    answers: { 201: NewInviteView },
    errors: [409],
    handle: async ({ ids: [id = ''], deps }) => created(await resetPassword(id, deps)),
  },
}
