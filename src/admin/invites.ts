import { newHex } from '../core/ids.ts'
import { type InviteFor, invite } from '../core/invitation.ts'
import type { Invite } from '../core/people.ts'
import { list } from './contract/common.ts'
import { InviteView, NewInviteView, SessionView } from './contract.ts'
import { conflict, notFound, unprocessable } from './failure.ts'
import { read } from './input.ts'
import { refuseOtherSites } from './origin.ts'
import { hashPassword } from './password.ts'
import { ACCEPTED_INVITE, NEW_INVITE, OPENED_INVITE } from './people-input.ts'
import { type AdminCall, type AdminReply, created, done, ok, type Routes } from './route.ts'
import { begin, type SessionsDeps } from './sessions.ts'

export type InvitesDeps = SessionsDeps

/** The only answer that has the link. */
export async function inviteBy(wanted: InviteFor, deps: InvitesDeps): Promise<NewInviteView> {
  const made = await invite(wanted, deps)
  return { ...viewInvite(made.invite), link: made.link }
}

async function createInvite(body: unknown, deps: InvitesDeps): Promise<NewInviteView> {
  const { role, account: wanted, name } = read(NEW_INVITE, body)
  const account = wanted ? await deps.directory.account(wanted) : undefined
  if (wanted && !account) throw unprocessable(`account: there is no account ${wanted}`, 'account')
  return inviteBy({ kind: 'invite', role, accountId: account?.id, name: name ?? undefined }, deps)
}

// ── accepting ───────────────────────────────────────────────────────────────────────────────────────────────────────

async function openInvite(call: AdminCall, body: unknown, deps: InvitesDeps): Promise<Invite> {
  refuseOtherSites(call)
  const { token } = read(OPENED_INVITE, body)
  return findInvite(token, deps)
}

/** Tokens have 256 random bits: nobody guesses one, however often they try. */
async function findInvite(token: string, deps: InvitesDeps): Promise<Invite> {
  const found = await deps.people.invite(deps.sealer.sign(token), deps.clock())
  if (!found) throw notFound('this link was used already, has expired, or')
  return found
}

async function accept(call: AdminCall, body: unknown, deps: InvitesDeps): Promise<AdminReply> {
  refuseOtherSites(call)
  const { token, name: wanted, password } = read(ACCEPTED_INVITE, body)
  const found = await findInvite(token, deps)
  const hash = await hashPassword(password)
  const now = deps.clock()
  const tokenHash = deps.sealer.sign(token)
  if (found.kind === 'reset') {
    const user = await deps.people.reset(tokenHash, hash, now)
    if (!user) throw notFound('this link')
    deps.log.info('password set anew', { user: user.name, address: call.address })
    return begin(user, call, deps)
  }
  const name = wanted ?? found.name
  if (name === undefined) throw unprocessable('name: is required', 'name')
  const account = { id: `acc_${newHex(10)}`, name, group: 'default', createdAt: now }
  const user = { id: `usr_${newHex(10)}`, name, password: hash, createdAt: now }
  const accepted = await deps.people.accept(tokenHash, user, account)
  if ('user' in accepted) {
    deps.log.info('invitation accepted', { user: name, role: accepted.user.role, address: call.address })
    return begin(accepted.user, call, deps)
  }
  if (accepted.refused === 'unknown') throw notFound('this link')
  const what = accepted.refused === 'name-taken' ? 'a user' : 'an account'
  throw conflict(`${what} named ${name} exists already; choose another name`, 'name')
}

export const viewInvite = (invite: Invite): InviteView => ({
  id: invite.id,
  kind: invite.kind,
  role: invite.role,
  account: invite.accountId ?? null,
  account_name: invite.accountName ?? null,
  user: invite.name ?? null,
  created_at: new Date(invite.createdAt).toISOString(),
  expires_at: new Date(invite.expiresAt).toISOString(),
})

export const inviteRoutes: Routes<InvitesDeps> = {
  'POST /invites/open': {
    access: 'open',
    summary: 'What a link is for',
    body: OPENED_INVITE,
    answers: { 200: InviteView },
    errors: [404, 429],
    handle: async ({ call, json, deps }) => ok(viewInvite(await openInvite(call, await json(), deps))),
  },
  'POST /invites/accept': {
    access: 'open',
    summary: 'Use a link up: become a user, or set a new password; signed in at once',
    body: ACCEPTED_INVITE,
    answers: { 201: SessionView },
    errors: [404, 409, 429],
    handle: async ({ call, json, deps }) => accept(call, await json(), deps),
  },
  'GET /invites': {
    access: 'admin',
    summary: 'Links that can still be used',
    answers: { 200: list(InviteView) },
    handle: async ({ deps }) => ok({ data: (await deps.people.invites(deps.clock())).map(viewInvite), next: null }),
  },
  'POST /invites': {
    access: 'admin',
    summary: 'Invite somebody; without an account, a new one is made for them',
    body: NEW_INVITE,
    answers: { 201: NewInviteView },
    handle: async ({ json, deps }) => created(await createInvite(await json(), deps)),
  },
  'DELETE /invites/*': {
    access: 'admin',
    summary: 'Take an invitation back',
    answers: { 204: null },
    handle: async ({ ids: [id = ''], deps }) => {
      if (!(await deps.people.revokeInvite(id))) throw notFound(`invitation ${id}`)
      return done
    },
  },
}
