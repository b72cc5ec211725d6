import { z } from 'zod'
import { AccountView } from './accounts.ts'
import { list, time } from './common.ts'

export const role = z.enum(['admin', 'member']).describe('Admins see everything; members see their own account.')
export type Role = z.infer<typeof role>

export const UserView = z.strictObject({
  id: z.string(),
  name: z.string(),
  role,
  account: z.string(),
  account_name: z.string(),
  enabled: z.boolean(),
  created_at: time,
  last_seen_at: time.nullable(),
})
export type UserView = z.infer<typeof UserView>

export const SessionView = z
  .strictObject({
    user: UserView.nullable().describe('Null for the admin token, which is nobody.'),
    role,
    account: AccountView.nullable(),
    accounts: z
      .array(z.strictObject({ id: z.string(), name: z.string() }))
      .readonly()
      .describe('Those that can be looked at: for admins all, up to a limit; for members their own.'),
    version: z.string(),
    base_url: z.string().describe('Where callers send requests, with `/v1`.'),
    is_sandbox: z.boolean().describe('No real upstream is configured.'),
    is_replicated: z
      .boolean()
      .describe('Several replicas may share the store; health of channels is what the one that answers has seen.'),
  })
  .describe('Who is asking.')
export type SessionView = z.infer<typeof SessionView>

export const SessionRowView = z
  .strictObject({
    id: z.string(),
    created_at: time,
    last_seen_at: time,
    expires_at: time,
    address: z.string().describe('Where it was last used from.'),
    client: z.string().describe('What the browser says of itself.'),
    current: z.boolean(),
  })
  .describe('One browser that is signed in.')
export type SessionRowView = z.infer<typeof SessionRowView>

export const InviteView = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['first', 'invite', 'reset']),
    role,
    account: z.string().nullable().describe('Null for a new account, made when the invitation is accepted.'),
    account_name: z.string().nullable(),
    user: z.string().nullable().describe('The name it sets a new password for, or suggests.'),
    created_at: time,
    expires_at: time,
  })
  .describe('A link that can be used once.')
export type InviteView = z.infer<typeof InviteView>

export const UserList = list(UserView).extend({
  invites: z.array(InviteView).readonly().describe('Those that can still be used.'),
})
export type UserList = z.infer<typeof UserList>

export const NewInviteView = InviteView.extend({
  link: z.string().describe('Shown only this once. Its secret is behind `#`, which browsers do not send.'),
})
export type NewInviteView = z.infer<typeof NewInviteView>
