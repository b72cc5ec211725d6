import { useRef } from 'preact/hooks'
import type { EventViews, OverviewView } from '../../../src/admin/contract.ts'
import { useEvent } from '../../app/events.ts'
import { type Resource, useResource } from '../../app/resource.ts'
import { query } from '../../app/router.ts'
import { useThrottled } from '../../app/throttle.ts'

export type Range = OverviewView['days']

export const RANGES: readonly Range[] = ['1', '7', '30']

/** `?days=`; seven unless it is said. */
export function range(): Range {
  const wanted = query.value.get('days')
  return RANGES.find(days => days === wanted) ?? '7'
}

const REFRESH_MS_MIN = 5_000
const RECENT_ROWS = 10

/** Everything the page shows. New requests appear as they are told; sums and charts follow, some seconds apart. */
export function useOverview(): Resource<OverviewView> {
  const overview = useResource<OverviewView>('/overview', { days: range(), account: query.value.get('account') })
  const refresh = useThrottled(overview.refresh, REFRESH_MS_MIN)
  const mountedAt = useRef(Date.now())
  useEvent('usage', news => {
    overview.mutate(view => withNews(view, news))
    refresh()
  })
  useEvent('catalog', refresh)
  useEvent('hello', () => {
    // The first one comes together with the page; a later one means that something may have been missed.
    if (Date.now() - mountedAt.current > REFRESH_MS_MIN) refresh()
  })
  return overview
}

function withNews(view: OverviewView, { rows, accounts }: EventViews['usage']): OverviewView {
  const own = view.account?.id
  const news = rows.filter(({ account }) => own === undefined || account === own).toReversed()
  const known = new Set(news.map(row => row.request_id))
  const recent = [...news, ...view.recent.filter(row => !known.has(row.request_id))].slice(0, RECENT_ROWS)
  const account = accounts.find(({ id }) => id === own)
  return { ...view, recent, ...(account ? { account, balance: account.balance, held: account.held } : {}) }
}
