import { useSignal } from '@preact/signals'
import type { NewInviteView, UserList, UserView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import type { Resource } from '../../app/resource.ts'
import { session } from '../../app/session.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import { Badge, type Column, confirm, Empty, Menu, Table, Time } from '../../kit/index.ts'
import { RenameDialog } from './rename.tsx'

interface UsersProps {
  readonly users: readonly UserView[]
  readonly list: Resource<UserList>
  readonly onLink: (invite: NewInviteView) => void
}

export function Users({ users, list, onLink }: UsersProps) {
  const renaming = useSignal<UserView | null>(null)
  const texts = t().people
  const replace = (changed: UserView) =>
    list.mutate(page => ({ ...page, data: page.data.map(user => (user.id === changed.id ? changed : user)) }))

  const columns: readonly Column<UserView>[] = [
    {
      id: 'name',
      title: t().common.name,
      cell: ({ id, name }) => (
        <span class="row">
          <strong class="people-name">{name}</strong>
          {id === session.value?.user?.id && <Badge tone="accent">{texts.you}</Badge>}
        </span>
      ),
    },
    { id: 'role', title: texts.role, cell: ({ role }) => texts.roles[role] },
    { id: 'account', title: texts.account, cell: ({ account_name }) => account_name },
    {
      id: 'state',
      title: t().common.status,
      cell: ({ enabled }) => (
        <Badge tone={enabled ? 'good' : 'neutral'} hasDot>
          {enabled ? texts.enabled : texts.disabled}
        </Badge>
      ),
    },
    {
      id: 'seen',
      title: texts.lastSeen,
      cell: ({ last_seen_at }) => <Time at={last_seen_at} none={t().common.never} />,
    },
    { id: 'created', title: t().common.created, cell: ({ created_at }) => <Time at={created_at} />, isMinor: true },
    {
      id: 'actions',
      title: t().common.actions,
      isActions: true,
      cell: user => (
        <Menu
          label={texts.actionsFor(user.name)}
          items={[
            { label: texts.rename, icon: 'edit', onSelect: () => (renaming.value = user) },
            { label: texts.reset, icon: 'link', onSelect: () => reset(user, onLink) },
            user.role === 'member'
              ? { label: texts.makeAdmin, icon: 'lock', onSelect: () => changeRole(user, replace) }
              : { label: texts.makeMember, icon: 'people', onSelect: () => changeRole(user, replace) },
            user.enabled
              ? { label: texts.disable, icon: 'pause', isDangerous: true, onSelect: () => setEnabled(user, replace) }
              : { label: t().common.enable, icon: 'check', onSelect: () => setEnabled(user, replace) },
          ]}
        />
      ),
    },
  ]
  return (
    <>
      <Table
        caption={texts.users}
        rows={users}
        columns={columns}
        keyOf={user => user.id}
        isFaint={user => !user.enabled}
        empty={<Empty icon="people" title={texts.noUsers} />}
      />
      {renaming.value && (
        <RenameDialog user={renaming.value} onRenamed={replace} onClose={() => (renaming.value = null)} />
      )}
    </>
  )
}

const userPath = ({ id }: UserView) => `/users/${encodeURIComponent(id)}`

async function reset(user: UserView, onLink: (invite: NewInviteView) => void): Promise<void> {
  await api.post<NewInviteView>(`${userPath(user)}/reset`).then(onLink, toastError)
}

async function changeRole(user: UserView, replace: (changed: UserView) => void): Promise<void> {
  const texts = t().people
  const role = user.role === 'admin' ? 'member' : 'admin'
  const question = { title: texts.makeAdminTitle(user.name), text: texts.makeAdminText, action: texts.makeAdmin }
  if (role === 'admin' && !(await confirm(question))) return
  try {
    replace(await api.patch<UserView>(userPath(user), { role }))
    toast(texts.roleChanged(user.name, texts.roles[role]))
  } catch (error) {
    toastError(error)
  }
}

async function setEnabled(user: UserView, replace: (changed: UserView) => void): Promise<void> {
  const texts = t().people
  const question = { title: texts.disableTitle(user.name), text: texts.disableText, action: texts.disable }
  if (user.enabled && !(await confirm({ ...question, isDangerous: true }))) return
  try {
    const changed = await api.patch<UserView>(userPath(user), { enabled: !user.enabled })
    replace(changed)
    toast(changed.enabled ? texts.wasEnabled(user.name) : texts.wasDisabled(user.name))
  } catch (error) {
    toastError(error)
  }
}
