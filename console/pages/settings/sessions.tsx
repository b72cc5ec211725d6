import type { List, SessionRowView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { type Resource, useResource } from '../../app/resource.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import {
  Badge,
  Button,
  type Column,
  confirm,
  IconButton,
  Load,
  Section,
  SkeletonRows,
  Table,
  Time,
} from '../../kit/index.ts'
import { browserOf } from './browser.ts'

export function Sessions() {
  const sessions = useResource<List<SessionRowView>>('/sessions')
  const texts = t().settings
  const others = sessions.data?.data.filter(({ current }) => !current).length ?? 0
  const actions = others > 0 && <Button onClick={() => endOthers(sessions)}>{texts.endOthers}</Button>
  return (
    <Section title={texts.sessions} text={texts.sessionsText} actions={actions}>
      <Load resource={sessions} skeleton={<SkeletonRows rows={2} />}>
        {({ data }) => (
          <Table caption={texts.sessions} rows={data} columns={columns(sessions)} keyOf={session => session.id} />
        )}
      </Load>
    </Section>
  )
}

function columns(sessions: Resource<List<SessionRowView>>): readonly Column<SessionRowView>[] {
  const texts = t().settings
  return [
    {
      id: 'client',
      title: texts.browser,
      cell: ({ client, current }) => (
        <span class="row" title={client}>
          <span>{browserName(client)}</span>
          {current && <Badge tone="accent">{texts.thisOne}</Badge>}
        </span>
      ),
    },
    { id: 'address', title: texts.address, cell: ({ address }) => <span class="mono">{address}</span> },
    { id: 'seen', title: texts.lastSeen, cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
    { id: 'created', title: texts.signedIn, cell: ({ created_at }) => <Time at={created_at} />, isMinor: true },
    { id: 'expires', title: t().common.expires, cell: ({ expires_at }) => <Time at={expires_at} />, isMinor: true },
    {
      id: 'actions',
      title: t().common.actions,
      isActions: true,
      cell: session =>
        !session.current && <IconButton icon="signOut" label={texts.end} onClick={() => end(session, sessions)} />,
    },
  ]
}

function browserName(client: string): string {
  const { browser, system } = browserOf(client)
  if (browser === undefined) return client.split(' ')[0] || t().settings.unknownBrowser
  return system === undefined ? browser : t().settings.on(browser, system)
}

async function end({ id }: SessionRowView, sessions: Resource<List<SessionRowView>>): Promise<void> {
  try {
    await api.delete(`/sessions/${encodeURIComponent(id)}`)
    sessions.mutate(list => ({ ...list, data: list.data.filter(session => session.id !== id) }))
    toast(t().settings.ended)
  } catch (error) {
    toastError(error)
  }
}

async function endOthers(sessions: Resource<List<SessionRowView>>): Promise<void> {
  const { endOthersTitle: title, endOthersText: text, endOthers: action, endedOthers } = t().settings
  if (!(await confirm({ title, text, action }))) return
  try {
    await api.delete('/sessions')
    sessions.mutate(list => ({ ...list, data: list.data.filter(({ current }) => current) }))
    toast(endedOthers)
  } catch (error) {
    toastError(error)
  }
}
