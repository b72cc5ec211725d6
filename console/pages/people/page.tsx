import { useSignal } from '@preact/signals'
import type { NewInviteView, UserList, UserView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { usePages } from '../../app/resource.ts'
import { Button, Load, PageHeader, Pager, Section } from '../../kit/index.ts'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite.tsx'
import { LinkDialog } from './link.tsx'
import { Users } from './users.tsx'

export function Page() {
  const users = usePages<UserView, UserList>('/users')
  const isInviting = useSignal(false)
  const made = useSignal<NewInviteView | null>(null)
  const texts = t().people
  const show = (invite: NewInviteView) => {
    isInviting.value = false
    made.value = invite
    users.reload()
  }
  return (
    <>
      <PageHeader
        title={t().nav.people}
        text={texts.intro}
        actions={
          <Button kind="primary" icon="plus" onClick={() => (isInviting.value = true)}>
            {texts.invite}
          </Button>
        }
      />
      <Load resource={users}>
        {({ data, invites }) => (
          <>
            <Users users={data} list={users} onLink={show} />
            <Pager paging={users.paging} />
            <Section title={texts.invitations} text={texts.invitationsText}>
              <Invitations invites={invites} list={users} />
            </Section>
          </>
        )}
      </Load>
      {isInviting.value && <InviteDialog onMade={show} onClose={() => (isInviting.value = false)} />}
      {made.value && <LinkDialog invite={made.value} onClose={() => (made.value = null)} />}
    </>
  )
}
