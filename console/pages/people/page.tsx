import { useSignal } from '@preact/signals'
import type { NewInviteView, UserList, UserView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { usePages } from '../../app/resource.ts'
import { query, setQuery } from '../../app/router.ts'
import { Button, Load, PageHeader, Pager, Section } from '../../kit/index.ts'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite.tsx'
import { LinkDialog } from './link.tsx'
import { Users } from './users.tsx'

export function Page() {
  const users = usePages<UserView, UserList>('/users')
  const isInviting = query.value.has('invite')
  const made = useSignal<NewInviteView | null>(null)
  const texts = t().people
  const show = (invite: NewInviteView) => {
    setQuery({ invite: null })
    made.value = invite
    users.reload()
  }
  return (
    <>
      <PageHeader
        title={t().nav.people}
        text={texts.intro}
        actions={
          <Button kind="primary" icon="plus" onClick={() => setQuery({ invite: true })}>
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
      {isInviting && <InviteDialog onMade={show} onClose={() => setQuery({ invite: null })} />}
      {made.value && <LinkDialog invite={made.value} onClose={() => (made.value = null)} />}
    </>
  )
}
