import type { AccountView } from '../../../src/admin/contract.ts'
import { useEvent } from '../../app/events.ts'
import { type Resource, useResource } from '../../app/resource.ts'
import { pathTo, query } from '../../app/router.ts'
import { accountChanged, isAdmin, account as ownAccount } from '../../app/session.ts'

export interface BilledAccount extends Resource<AccountView> {
  /** Undefined for the admin token, which has no account and has to choose one. */
  readonly wanted: string | undefined
}

/** Admins choose one by `?account=`; everybody else sees their own, which the session knows without asking. */
export function useBilledAccount(): BilledAccount {
  const own = ownAccount.value
  const wanted = (isAdmin.value ? query.value.get('account') : null) ?? own?.id
  const isOwn = own !== null && (wanted === own.id || wanted === own.name)
  const other = useResource<AccountView>(isOwn || wanted === undefined ? null : pathTo('accounts', wanted))
  useEvent('usage', ({ accounts }) => {
    const changed = accounts.find(({ id }) => id === other.data?.id)
    if (changed) other.mutate(() => changed)
  })
  if (!isOwn) return { ...other, wanted }
  return {
    ...other,
    wanted,
    data: own,
    isLoading: false,
    mutate: change => accountChanged(change(own)),
  }
}
