import type { InvitationDeps } from '../core/invitation.ts'
import type { Replicas } from '../core/replicas.ts'
import { createFirstAccount, type FirstAccountDeps } from './first-account.ts'
import { createFirstInvite } from './first-invite.ts'

export interface FirstStartDeps extends FirstAccountDeps, InvitationDeps {
  readonly replicas: Pick<Replicas, 'alone'> | undefined
}

/** What the very first start makes and shows, once; of later ones, and of all replicas but one, both are undefined. */
export interface FirstStart {
  readonly firstKey: string | undefined
  readonly signInLink: string | undefined
}

/** Of replicas that start together, one after the other: each finds what the one before has made. */
export function firstStart(bootstrapKey: string | undefined, deps: FirstStartDeps): Promise<FirstStart> {
  const { replicas } = deps
  const begin = async () => ({
    firstKey: await createFirstAccount(bootstrapKey, deps),
    signInLink: await createFirstInvite(deps),
  })
  return replicas ? replicas.alone('first start', begin) : begin()
}
