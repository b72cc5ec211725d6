import type { SummaryList, SummaryView, UsageReceiptView, UsageView } from '../admin/contract.ts'
import { apiOf, apiPath } from './api.ts'
import type { Context, Given, Run } from './command.ts'
import { wrongUsage } from './failure.ts'
import { readLimit, readMoment, readNames } from './read.ts'
import { receiptText } from './receipt.ts'
import { rows } from './rows.ts'
import { type Column, shortTime, table } from './table.ts'

export const usage: Run = async (given, context) => {
  const requestId = given.maybe('request')
  if (requestId !== undefined) return showReceipt(requestId, given, context)
  const by = given.maybe('by')
  return by === undefined ? listRequests(given, context) : summarize(readNames(by), given, context)
}

const FILTERS = ['account', 'key', 'model', 'status', 'since', 'from', 'to'] as const

function readFilter(given: Given, { clock }: Context): Record<string, string | undefined> {
  const moment = (name: 'since' | 'from' | 'to') => {
    const text = given.maybe(name)
    return text === undefined ? undefined : readMoment(text, { option: `--${name}`, now: clock(), span: 'ago' })
  }
  if (given.has('since') && given.has('from')) throw wrongUsage('--since and --from say the same: give one of them')
  return {
    ...Object.fromEntries(['account', 'key', 'model', 'status'].map(name => [name, given.maybe(name)])),
    from: moment('since') ?? moment('from'),
    to: moment('to'),
  }
}

// ── one row a request ───────────────────────────────────────────────────────────────────────────────────────────────

const REQUESTS_SHOWN = 50

const USAGE_COLUMNS: readonly Column<UsageView>[] = [
  { title: 'TIME', cell: ({ started_at }) => shortTime(started_at) },
  { title: 'REQUEST', cell: ({ request_id }) => request_id },
  { title: 'KEY', cell: ({ key }) => key },
  { title: 'MODEL', cell: ({ model }) => model },
  { title: 'STATUS', cell: ({ status }) => status },
  { title: 'ATTEMPTS', kind: 'number', isLeftOut: ({ attempts }) => attempts < 2, cell: ({ attempts }) => attempts },
  { title: 'INPUT', kind: 'number', cell: ({ tokens }) => tokens.input },
  { title: 'CACHED', kind: 'number', cell: ({ tokens }) => tokens.cache_read + tokens.cache_write },
  { title: 'OUTPUT', kind: 'number', cell: ({ tokens }) => tokens.output },
  { title: 'COST', kind: 'amount', cell: ({ cost }) => cost },
  { title: 'MS', kind: 'number', cell: ({ duration_ms }) => duration_ms },
]

async function listRequests(given: Given, context: Context): Promise<void> {
  const limit = readLimit(given.maybe('limit'), REQUESTS_SHOWN)
  const found = await apiOf(context).list<UsageView>('/usage', readFilter(given, context), limit)
  rows(found, { what: 'requests', id: ({ request_id }) => request_id, columns: USAGE_COLUMNS }, context.out)
}

// ── sums ────────────────────────────────────────────────────────────────────────────────────────────────────────────

type SummaryLine = SummaryList['total'] & { readonly names: readonly string[] }

const SUM_COLUMNS: readonly Column<SummaryLine>[] = [
  { title: 'REQUESTS', kind: 'number', cell: ({ requests }) => requests },
  { title: 'ERRORS', kind: 'number', cell: ({ errors }) => errors },
  { title: 'INPUT', kind: 'number', cell: ({ tokens }) => tokens.input },
  { title: 'CACHE READ', kind: 'number', cell: ({ tokens }) => tokens.cache_read },
  { title: 'CACHE WRITE', kind: 'number', cell: ({ tokens }) => tokens.cache_write },
  { title: 'OUTPUT', kind: 'number', cell: ({ tokens }) => tokens.output },
  { title: 'COST', kind: 'amount', cell: ({ cost }) => cost },
]

async function summarize(by: readonly string[], given: Given, context: Context): Promise<void> {
  if (given.has('limit')) throw wrongUsage('--limit does not go with --by: a sum is of all requests')
  if (by.length === 0) throw wrongUsage('--by needs a name such as model or day')
  const { out } = context
  const query = { ...readFilter(given, context), by: by.join(',') }
  const summary = await apiOf(context).get<SummaryList>('/usage/summary', query)
  const lines = [
    ...summary.data.map((row): SummaryLine => ({ ...row, names: by.map(name => nameIn(row, name)) })),
    { ...summary.total, names: ['total', ...by.slice(1).map(() => '')] },
  ]
  const columns: Column<SummaryLine>[] = [
    ...by.map((name, place) => ({ title: name.toUpperCase(), cell: ({ names }: SummaryLine) => names[place] ?? '' })),
    ...SUM_COLUMNS,
  ]
  out.result({
    json: summary,
    quiet: lines.slice(0, -1).map(({ names }) => names.join('\t')),
    text: paint => table(columns, lines, paint),
  })
  const { from, to } = summary
  if (from ?? to) out.note(`from ${shortTime(from) ?? 'the beginning'} to ${shortTime(to) ?? 'now'}, in whole hours`)
}

/** The names are those that the API has accepted. */
const nameIn = (row: SummaryView, name: string): string =>
  String(Object.entries(row).find(([key]) => key === name)?.[1])

// ── one request ─────────────────────────────────────────────────────────────────────────────────────────────────────

async function showReceipt(requestId: string, given: Given, context: Context): Promise<void> {
  const filter = [...FILTERS, 'by', 'limit'].find(name => given.has(name))
  if (filter !== undefined) throw wrongUsage(`--${filter} does not go with the id of a request`)
  // The API has its sums under this name, and no request can have it.
  if (requestId === 'summary') throw wrongUsage('"summary" is no request; sums are made with --by model,day')
  const receipt = await apiOf(context).get<UsageReceiptView>(apiPath('usage', requestId))
  context.out.result({ json: receipt, quiet: [receipt.request_id], text: paint => receiptText(receipt, paint) })
}
