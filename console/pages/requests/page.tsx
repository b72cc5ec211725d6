import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { UsageList, UsageView } from '../../../src/admin/contract.ts'
import { apiHref } from '../../app/api.ts'
import { connection } from '../../app/events.ts'
import { t } from '../../app/language.ts'
import { usePages } from '../../app/resource.ts'
import { go, href, pathTo, query } from '../../app/router.ts'
import type { PageProps } from '../../app/routes.ts'
import { isAdmin } from '../../app/session.ts'
import { Button, Empty, LinkButton, Load, PageHeader, Pager, Table } from '../../kit/index.ts'
import { requestColumns } from './columns.tsx'
import { RequestDetail } from './detail.tsx'
import { asRange, RANGES, readFilter } from './filter.ts'
import { Filters, isFiltered } from './filters.tsx'
import { type Tail, useTail } from './tail.ts'

export function Page({ rest: [id] }: PageProps) {
  const range = asRange(query.value.get('range'))
  // A range begins when it was chosen: pages that were turned meanwhile must be of the same list.
  const rangeStart = useMemo(() => (range ? new Date(Date.now() - RANGES[range]).toISOString() : null), [range])
  const filter = readFilter(query.value, { rangeStart, isAdmin: isAdmin.value })
  const list = usePages<UsageView, UsageList>('/usage', { ...filter, with: 'choices' })
  const isPointedAt = useSignal(false)
  const tail = useTail(list, filter, isPointedAt.value || id !== undefined)

  return (
    <>
      <PageHeader
        title={t().nav.requests}
        text={t().requests.intro}
        actions={
          <>
            <LiveToggle tail={tail} />
            <LinkButton icon="download" download href={apiHref('/usage.csv', { ...filter })}>
              {t().requests.export}
            </LinkButton>
          </>
        }
      />
      <Filters choices={list.data?.choices} rows={list.rows} />
      <div class="requests-new" role="status">
        {tail.waiting > 0 && (
          <Button size="small" icon="refresh" onClick={tail.flush}>
            {t().requests.showNew(tail.waiting)}
          </Button>
        )}
      </div>
      <div
        class="requests-list"
        onPointerEnter={event => {
          isPointedAt.value = event.pointerType === 'mouse'
        }}
        onPointerLeave={() => {
          isPointedAt.value = false
        }}
        onClickCapture={keepTrail}
      >
        <Load resource={list}>
          {({ data, next }) => <RequestTable rows={data} hasMore={next !== null} currentKey={id} />}
        </Load>
      </div>
      <Pager paging={list.paging} />
      {id !== undefined && <RequestDetail id={id} rows={list.rows} />}
    </>
  )
}

/** Opening a row keeps the way back to earlier pages, which is in the state of the history entry. */
function keepTrail(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('[data-row-link]') : null
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  go(link.pathname.slice(href('/').length) + link.search, { state: history.state })
}

interface RequestTableProps {
  readonly rows: readonly UsageView[]
  /** The search may stop before it has found anything, and goes on with the next page. */
  readonly hasMore: boolean
  readonly currentKey: string | undefined
}

function RequestTable({ rows, hasMore, currentKey }: RequestTableProps) {
  const texts = t().requests
  const filters = Object.fromEntries(query.value)
  return (
    <Table
      caption={t().nav.requests}
      rows={rows}
      columns={requestColumns()}
      keyOf={row => row.request_id}
      hrefOf={row => href(pathTo('requests', row.request_id), filters)}
      currentKey={currentKey}
      empty={
        isFiltered() ? (
          <Empty
            icon="filter"
            title={hasMore ? texts.noMatchYetTitle : texts.noMatchTitle}
            text={hasMore ? texts.noMatchYetText : texts.noMatchText}
          />
        ) : (
          <Empty
            icon="requests"
            title={texts.emptyTitle}
            text={texts.emptyText}
            action={
              <LinkButton kind="primary" icon="plus" href={href('/keys/new')}>
                {texts.createKey}
              </LinkButton>
            }
          />
        )
      }
    />
  )
}

function LiveToggle({ tail }: { readonly tail: Tail }) {
  const texts = t().requests
  const isLive = tail.isOn && !tail.isPaused && connection.value === 'live'
  return (
    <button
      type="button"
      class={`button secondary medium requests-live ${isLive ? 'is-live' : ''}`}
      aria-pressed={tail.isOn}
      title={texts.liveTitle}
      onClick={tail.toggle}
    >
      <span class="dot" aria-hidden="true" />
      <span>{texts.live}</span>
    </button>
  )
}
