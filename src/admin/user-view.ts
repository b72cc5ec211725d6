import type { User } from '../core/people.ts'
import type { UserView } from './contract.ts'

export const viewUser = (user: User): UserView => ({
  id: user.id,
  name: user.name,
  role: user.role,
  account: user.accountId,
  account_name: user.accountName,
  enabled: user.enabled,
  created_at: new Date(user.createdAt).toISOString(),
  last_seen_at: user.lastSeenAt === undefined ? null : new Date(user.lastSeenAt).toISOString(),
})
