import { useEffect } from 'preact/hooks'
import type { KeyView, List, UsageView } from '../../../src/admin/contract.ts'
import { useEvent } from '../../app/events.ts'
import { t } from '../../app/language.ts'
import { useResource } from '../../app/resource.ts'
import { href, pathTo } from '../../app/router.ts'
import { type Column, LinkButton, Load, Money, Part, SkeletonRows, Table, Time } from '../../kit/index.ts'
import { RequestStatus } from '../requests/status.tsx'
import { noteCalls } from './room.ts'

const ROWS = 5

/** The last few, and the way to all of them. */
export function Recent({ keyView: key }: { readonly keyView: KeyView }) {
  const texts = t().keys
  const requests = useResource<List<UsageView>>('/usage', { key: key.id, limit: ROWS })
  useEvent('usage', ({ rows }) => {
    const own = rows.filter(row => row.key === key.id).toReversed()
    if (own.length === 0) return
    requests.mutate(page => {
      const known = new Set(page.data.map(row => row.request_id))
      return { ...page, data: [...own.filter(row => !known.has(row.request_id)), ...page.data].slice(0, ROWS) }
    })
  })
  useEffect(() => noteCalls(requests.data?.data.toReversed() ?? []), [requests.data])
  return (
    <Part
      title={texts.recent}
      actions={
        <LinkButton size="small" icon="requests" href={href('/requests', { key: key.id })}>
          {texts.allRequests}
        </LinkButton>
      }
    >
      <Load resource={requests} skeleton={<SkeletonRows rows={2} />}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="faint">{texts.noRecent}</p>
          ) : (
            <Table
              caption={texts.recent}
              rows={data}
              columns={columns()}
              keyOf={row => row.request_id}
              narrow="scroll"
            />
          )
        }
      </Load>
    </Part>
  )
}

const columns = (): readonly Column<UsageView>[] => [
  {
    id: 'time',
    title: t().requests.time,
    cell: row => (
      <a href={href(pathTo('requests', row.request_id), { key: row.key })}>
        <Time at={row.started_at} />
      </a>
    ),
  },
  { id: 'status', title: t().common.status, cell: row => <RequestStatus status={row.status} model={row.model} /> },
  { id: 'model', title: t().requests.model, cell: row => <code class="small">{row.model}</code> },
  { id: 'cost', title: t().requests.cost, isNumeric: true, cell: row => <Money amount={row.cost} /> },
]
