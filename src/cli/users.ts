import type { NewInviteView, UserView } from '../admin/contract.ts'
import { apiOf, apiPath } from './api.ts'
import type { Context, Run } from './command.ts'
import { readLimit } from './read.ts'
import { rows } from './rows.ts'
import { type Column, clean, shortTime } from './table.ts'

const COLUMNS: readonly Column<UserView>[] = [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'ROLE', cell: ({ role }) => role },
  { title: 'ACCOUNT', cell: ({ account_name }) => account_name },
  { title: 'STATE', cell: ({ enabled }) => (enabled ? 'enabled' : 'disabled') },
  { title: 'LAST SEEN', cell: ({ last_seen_at }) => shortTime(last_seen_at) },
  { title: 'CREATED', cell: ({ created_at }) => shortTime(created_at) },
]

export const list: Run = async (given, context) => {
  const users = await apiOf(context).list<UserView>('/users', {}, readLimit(given.maybe('limit')))
  rows(users, { what: 'users', id: ({ id }) => id, columns: COLUMNS }, context.out)
}

export const invite: Run = async (given, context) => {
  const wanted = { role: given.maybe('role'), account: given.maybe('account'), name: given.maybe('name') }
  const { body } = await apiOf(context).post<NewInviteView>('/invites', wanted)
  const { role, account_name: account, user } = body
  const what = `for ${user === null ? `a new ${role}` : `${clean(user)}, a new ${role},`}`
  const where = account === null ? 'with an account of their own' : `of account ${clean(account)}`
  showLink(body, `${what} ${where}`, context)
}

export const reset: Run = async (given, context) => {
  const user = given.text('user')
  const { body } = await apiOf(context).post<NewInviteView>(apiPath('users', user, 'reset'), {})
  showLink(body, `for a new password of ${clean(body.user ?? user)}`, context)
}

/** The link goes out alone, so that a script can hand it on. */
function showLink(invite: NewInviteView, what: string, { out }: Context): void {
  out.result({ json: invite, quiet: [invite.link], text: () => invite.link })
  out.note(`a link ${what}, until ${shortTime(invite.expires_at)}`)
  out.note('It works once, and is shown only this once.')
}

export const enable: Run = (given, context) => setEnabled(true, given.text('user'), context)

export const disable: Run = (given, context) => setEnabled(false, given.text('user'), context)

async function setEnabled(enabled: boolean, user: string, context: Context): Promise<void> {
  const changed = await apiOf(context).patch<UserView>(apiPath('users', user), { enabled })
  const state = changed.enabled ? 'may sign in' : 'is shut out'
  context.out.result({ json: changed, text: () => `${clean(changed.name)} (${changed.id}) ${state}` })
}
