import type { AccountView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { query, setQuery } from '../../app/router.ts'
import { accounts, isAdmin, account as ownAccount } from '../../app/session.ts'

/** For admins. Money belongs to one account, so there is no "all" here. */
export function AccountChoice({ current }: { readonly current: AccountView | undefined }) {
  const listed = accounts.value
  const known = current && !listed.some(({ id }) => id === current.id) ? [current, ...listed] : listed
  if (!isAdmin.value || known.length < 2) return null
  const own = ownAccount.value?.id
  return (
    <select
      class="input filter"
      aria-label={t().common.account}
      value={current?.id ?? query.value.get('account') ?? ''}
      onChange={event => {
        const { value } = event.currentTarget
        setQuery({ account: value === own ? null : value })
      }}
    >
      {!current && <option value="">–</option>}
      {known.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}
