import type { InviteView, UserList } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import type { Resource } from '../../app/resource.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import { Badge, type Column, confirm, Empty, IconButton, Table, Time } from '../../kit/index.ts'

interface InvitationsProps {
  readonly invites: readonly InviteView[]
  readonly list: Resource<UserList>
}

export function Invitations({ invites, list }: InvitationsProps) {
  const texts = t().people
  const columns: readonly Column<InviteView>[] = [
    { id: 'for', title: texts.for, cell: ({ user }) => user ?? <span class="faint">{texts.anybody}</span> },
    { id: 'kind', title: texts.kind, cell: ({ kind }) => <Badge>{texts.kinds[kind]}</Badge> },
    { id: 'role', title: texts.role, cell: ({ role }) => texts.roles[role] },
    { id: 'account', title: texts.account, cell: ({ account_name }) => account_name ?? texts.ownAccount },
    { id: 'created', title: t().common.created, cell: ({ created_at }) => <Time at={created_at} />, isMinor: true },
    { id: 'expires', title: t().common.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      id: 'actions',
      title: t().common.actions,
      isActions: true,
      cell: invite => <IconButton icon="trash" label={texts.revoke} onClick={() => revoke(invite, list)} />,
    },
  ]
  return (
    <Table
      caption={texts.invitations}
      rows={invites}
      columns={columns}
      keyOf={invite => invite.id}
      empty={<Empty icon="link" title={texts.noInvitations} />}
    />
  )
}

async function revoke({ id }: InviteView, list: Resource<UserList>): Promise<void> {
  const { revokeTitle: title, revokeText: text, revoke: action, revoked } = t().people
  if (!(await confirm({ title, text, action, isDangerous: true }))) return
  try {
    await api.delete(`/invites/${encodeURIComponent(id)}`)
    list.mutate(page => ({ ...page, invites: page.invites.filter(invite => invite.id !== id) }))
    toast(revoked)
  } catch (error) {
    toastError(error)
  }
}
