import type { Directory } from '../core/directory.ts'
import type { UsageRow } from '../core/ledger.ts'
import { formatDollars } from '../core/money.ts'
import {
  addSums,
  NO_SUMS,
  type Records,
  SUMMARY_DIMENSIONS,
  SUMMARY_MS,
  type SummaryDimension,
  type SummaryRow,
  type UsageFilter,
} from '../core/records.ts'
import { findAccount } from './accounts.ts'
import type { List, SummaryList, SummaryView, UsageReceiptView, UsageView } from './contract.ts'
import { AdminError, notFound, unprocessable } from './failure.ts'
import { readPage, readTime } from './input.ts'
import { viewReceipt, viewTokens } from './receipt.ts'

export interface UsageDeps {
  readonly directory: Directory
  readonly records: Records
}

/** Of what is asked for by names that are not in the list, a part would be answered as if it were the whole. */
const FILTERS = ['account', 'key', 'model', 'status', 'from', 'to']

export async function listUsage(query: URLSearchParams, deps: UsageDeps): Promise<List<UsageView>> {
  refuseUnknown(query, [...FILTERS, 'cursor', 'limit'])
  const filter = await readFilter(query, deps)
  const { rows, next } = await deps.records.usage({ ...filter, ...readPage(query, /^\d{1,15}-\d{1,15}$/) })
  return { data: rows.map(viewUsage), next: next ?? null }
}

export async function showUsage(requestId: string, { records }: UsageDeps): Promise<UsageReceiptView> {
  const receipt = await records.receipt(requestId)
  if (!receipt) throw notFound(`request ${requestId}`)
  return { ...viewUsage(receipt.row), receipt: viewReceipt(receipt) }
}

/** More rows than anyone reads, and more than should be sent. */
const SUMMARY_ROWS_MAX = 10_000

export async function summarize(query: URLSearchParams, deps: UsageDeps): Promise<SummaryList> {
  refuseUnknown(query, [...FILTERS, 'by'])
  const by = readDimensions(query.get('by') ?? '')
  const filter = await readFilter(query, deps)
  const rows = await deps.records.summary(by, filter, SUMMARY_ROWS_MAX)
  if (rows.length > SUMMARY_ROWS_MAX) {
    throw unprocessable(`by: makes more than ${SUMMARY_ROWS_MAX} rows; narrow the range, or ask for less`, 'by')
  }
  const { from, to } = filter
  return {
    data: rows.map(viewSummary),
    next: null,
    from: from === undefined ? null : isoTime(Math.floor(from / SUMMARY_MS) * SUMMARY_MS),
    to: to === undefined ? null : isoTime(Math.ceil(to / SUMMARY_MS) * SUMMARY_MS),
    total: viewSummary({
      by: {},
      errors: rows.reduce((sum, { errors }) => sum + errors, 0),
      ...rows.reduce(addSums, NO_SUMS),
    }),
  }
}

function refuseUnknown(query: URLSearchParams, known: readonly string[]): void {
  const unknown = [...query.keys()].find(name => !known.includes(name))
  if (unknown === undefined) return
  throw new AdminError(422, 'invalid_field', `${unknown}: is not one of ${known.join(', ')}`, unknown)
}

async function readFilter(query: URLSearchParams, { directory }: UsageDeps): Promise<UsageFilter> {
  const account = query.get('account')
  const given = {
    accountId: account ? (await findAccount(account, directory)).id : undefined,
    keyId: query.get('key') || undefined,
    model: query.get('model') || undefined,
    status: query.get('status') || undefined,
    from: readTime(query, 'from'),
    to: readTime(query, 'to'),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function readDimensions(text: string): SummaryDimension[] {
  const names = [...new Set(text.split(',').map(name => name.trim()))].filter(name => name !== '')
  const wrong = names.find(name => !SUMMARY_DIMENSIONS.some(known => known === name))
  if (wrong === undefined) return names as SummaryDimension[]
  throw unprocessable(`by: ${wrong} is not one of ${SUMMARY_DIMENSIONS.join(', ')}`, 'by')
}

const viewUsage = ({ call, ...row }: UsageRow): UsageView => ({
  request_id: row.requestId,
  account: row.accountId,
  key: row.keyId,
  model: call.model,
  channel: call.channel,
  protocol: call.protocol,
  upstream_protocol: call.upstreamProtocol,
  stream: call.stream,
  status: row.status,
  ending: row.ending ?? null,
  tokens: viewTokens(row.usage),
  source: row.source,
  cost: formatDollars(row.cost),
  started_at: isoTime(row.startedAt),
  first_byte_ms: row.firstByteMs ?? null,
  duration_ms: row.durationMs,
})

const viewSummary = ({ by, requests, errors, usage, cost }: SummaryRow): SummaryView => ({
  ...Object.fromEntries(Object.entries(by).map(([name, value]) => [name, viewDimension(name, value)])),
  requests,
  errors,
  tokens: viewTokens(usage),
  cost: formatDollars(cost),
})

function viewDimension(name: string, value: string | number): string {
  if (typeof value === 'string') return value
  return name === 'day' ? isoTime(value).slice(0, 'YYYY-MM-DD'.length) : isoTime(value)
}

const isoTime = (at: number): string => new Date(at).toISOString()
