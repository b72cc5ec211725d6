import type { Directory } from '../core/directory.ts'
import { type InvitationDeps, invite } from '../core/invitation.ts'

/**
 * The link that lets the operator in, made once: on the first start, or on the first one of a version with a console.
 * Whoever loses it makes another with the admin token.
 */
export async function createFirstInvite(
  deps: InvitationDeps & { readonly directory: Directory },
): Promise<string | undefined> {
  const { people, directory } = deps
  if ((await people.hasUsers()) || (await people.hadInvite('first'))) return undefined
  const account = await directory.account('default')
  const { link } = await invite({ kind: 'first', role: 'admin', accountId: account?.id }, deps)
  return link
}
