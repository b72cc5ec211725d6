import type { Account, Directory } from '../core/directory.ts'
import { unprocessable } from './failure.ts'
import { type Actor, maySee } from './route.ts'

/** The account that a body names, or else the actor's own; the admin token has none. */
export async function chosenAccount(wanted: string | undefined, actor: Actor, directory: Directory): Promise<Account> {
  const id = wanted ?? actor.user?.accountId
  if (id === undefined) throw unprocessable('account: is required', 'account')
  const account = await directory.account(id)
  if (!account || !maySee(actor, account.id)) throw unprocessable(`account: there is no account ${id}`, 'account')
  return account
}
