import { newHex, newSecret } from './ids.ts'
import type { Invite, NewInvite, People } from './people.ts'
import type { Sealer } from './seal.ts'

const DAY_MS = 86_400_000
/** Long enough to be read after a week away, short enough not to lie around. */
const INVITE_MS = 7 * DAY_MS

export type InviteFor = Pick<NewInvite, 'kind' | 'role'> & Partial<Pick<NewInvite, 'accountId' | 'userId' | 'name'>>

export interface InvitationDeps {
  readonly people: People
  readonly sealer: Sealer
  readonly clock: () => number
  publicUrl(): string
}

/** A link that can be used once. Its secret stands behind `#`: browsers keep that to themselves, and so do logs. */
export async function invite(
  { kind, role, accountId, userId, name }: InviteFor,
  { people, sealer, clock, publicUrl }: InvitationDeps,
): Promise<{ readonly invite: Invite; readonly link: string }> {
  const token = newSecret()
  const now = clock()
  const invite = await people.createInvite({
    ...{ id: `inv_${newHex(10)}`, kind, role, accountId, userId, name },
    ...{ createdAt: now, expiresAt: now + INVITE_MS, tokenHash: sealer.sign(token) },
  })
  return { invite, link: `${publicUrl()}/console/welcome#${token}` }
}
