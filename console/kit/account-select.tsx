import { t } from '../app/language.ts'
import { accounts, isAdmin } from '../app/session.ts'
import { QuerySelect } from './filters.tsx'

/** For admins, who see all accounts or one: `?account=` of the page. Members have one, and nothing to choose. */
export function AccountSelect() {
  const options = accounts.value.map(({ id, name }) => ({ value: id, label: name }))
  if (!isAdmin.value || options.length < 2) return null
  return <QuerySelect name="account" label={t().common.account} all={t().common.allAccounts} options={options} />
}
