import type { UsageView } from '../../../src/admin/contract.ts'

/** As the API understands it; what is null is not asked for. */
export interface RequestFilter {
  readonly account: string | null
  readonly key: string | null
  readonly model: string | null
  readonly status: string | null
  readonly protocol: string | null
  readonly channel: string | null
  readonly from: string | null
  readonly to: string | null
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Until now, from so long ago. */
export const RANGES = {
  '15m': 15 * MINUTE_MS,
  '1h': HOUR_MS,
  '24h': DAY_MS,
  '7d': 7 * DAY_MS,
  '30d': 30 * DAY_MS,
} as const
export type Range = keyof typeof RANGES

export const RANGE_NAMES = Object.keys(RANGES) as readonly Range[]

export const asRange = (text: string | null): Range | undefined => RANGE_NAMES.find(name => name === text)

/** What the address says. A range ends now, so its beginning is given by whoever knows when "now" was. */
export function readFilter(
  query: URLSearchParams,
  { rangeStart, isAdmin }: { readonly rangeStart: string | null; readonly isAdmin: boolean },
): RequestFilter {
  return {
    account: isAdmin ? query.get('account') : null,
    key: query.get('key'),
    model: query.get('model'),
    status: query.get('status'),
    protocol: query.get('protocol'),
    channel: isAdmin ? query.get('channel') : null,
    from: rangeStart ?? validTime(query.get('from')),
    to: rangeStart === null ? validTime(query.get('to')) : null,
  }
}

const validTime = (text: string | null): string | null =>
  text === null || Number.isNaN(Date.parse(text)) ? null : new Date(text).toISOString()

/** Whether a new request belongs to the list that is shown: the same as the API would say. */
export function matches(row: UsageView, filter: RequestFilter): boolean {
  const { status, from, to } = filter
  return (
    (['account', 'key', 'model', 'protocol', 'channel'] as const).every(
      name => !filter[name] || filter[name] === row[name],
    ) &&
    (!status || (status === 'error' ? row.status !== 'ok' : row.status === status)) &&
    (!from || Date.parse(row.started_at) >= Date.parse(from)) &&
    (!to || Date.parse(row.started_at) < Date.parse(to))
  )
}
