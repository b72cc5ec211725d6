import { type Captures, openExchange } from '../core/captures.ts'
import type { Directory } from '../core/directory.ts'
import { formatDollars } from '../core/money.ts'
import {
  addSums,
  NO_SUMS,
  type Records,
  SUMMARY_DIMENSIONS,
  SUMMARY_MS,
  type SummaryDimension,
  type SummaryRow,
} from '../core/records.ts'
import type { Sealer } from '../core/seal.ts'
import type { Catalog } from '../routing/catalog.ts'
import {
  type CaptureView,
  SummaryList,
  type SummaryView,
  UsageList,
  UsageReceiptView,
  type UsageView,
} from './contract.ts'
import { notFound, unprocessable } from './failure.ts'
import { readPage } from './input.ts'
import { viewReceipt, viewTokens } from './receipt.ts'
import { type Actor, confinedTo, maySee, ok, PAGED, type Routes } from './route.ts'
import { FILTERED, readFilter } from './usage-filter.ts'
import { isoTime, maySeeChannels, viewUsages } from './usage-view.ts'

export interface UsageDeps {
  readonly directory: Directory
  readonly records: Records
  readonly captures: Captures
  readonly sealer: Sealer
  readonly clock: () => number
  catalog(): Catalog
}

async function listUsage(query: URLSearchParams, actor: Actor, deps: UsageDeps): Promise<UsageList> {
  const filter = await readFilter(query, ['cursor', 'limit', 'with'], { actor, ...deps })
  const { rows, next } = await deps.records.usage({ ...filter, ...readPage(query, /^\d{1,15}-\d{1,15}$/) })
  const choices = query.get('with') === 'choices' ? { choices: await listChoices(actor, deps) } : {}
  return { data: await viewUsages(rows, { actor, ...deps }), next: next ?? null, ...choices }
}

/** More names than this nobody looks for in a menu. */
const CHOICES_MAX = 500

/** With the list, so that a screen that offers filters need not ask for each of them. */
async function listChoices(actor: Actor, { directory, catalog }: UsageDeps) {
  const own = confinedTo(actor)
  const filter = own === undefined ? {} : { accountId: own }
  const { rows: keys } = await directory.keys({ ...filter, cursor: undefined, limit: CHOICES_MAX })
  return {
    keys: keys.map(({ id, name }) => ({ id, name })),
    models: [...catalog().models.keys()],
    channels: maySeeChannels(actor) ? catalog().channels.map(({ name }) => name) : [],
  }
}

async function showUsage(requestId: string, actor: Actor, deps: UsageDeps): Promise<UsageReceiptView> {
  const receipt = await deps.records.receipt(requestId)
  if (!receipt || !maySee(actor, receipt.row.accountId)) throw notFound(`request ${requestId}`)
  const [view] = await viewUsages([receipt.row], { actor, ...deps })
  return {
    ...(view as UsageView),
    receipt: viewReceipt(receipt, { showChannel: maySeeChannels(actor) }),
    error: receipt.row.error ?? null,
    capture: await findCapture(requestId, deps),
  }
}

async function findCapture(requestId: string, { captures, sealer, clock }: UsageDeps): Promise<CaptureView | null> {
  const capture = await captures.find(requestId, clock())
  if (!capture) return null
  const { sealed, isCut, expiresAt } = capture
  try {
    return { ...openExchange(sealed, sealer), is_cut: isCut, expires_at: isoTime(expiresAt) }
  } catch {
    // Sealed with another secret: nobody can read it any more, and the receipt is none the worse for it.
    return null
  }
}

/** More rows than anyone reads, and more than should be sent. */
const SUMMARY_ROWS_MAX = 10_000

async function summarize(query: URLSearchParams, actor: Actor, deps: UsageDeps): Promise<SummaryList> {
  const filter = await readFilter(query, ['by'], { actor, ...deps })
  const by = readDimensions(query.get('by') ?? '', actor)
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
      refused: rows.reduce((sum, { refused }) => sum + refused, 0),
      ...rows.reduce(addSums, NO_SUMS),
    }),
  }
}

function readDimensions(text: string, actor: Actor): SummaryDimension[] {
  const known = SUMMARY_DIMENSIONS.filter(name => name !== 'channel' || maySeeChannels(actor))
  const names = [...new Set(text.split(',').map(name => name.trim()))].filter(name => name !== '')
  const wrong = names.find(name => !known.some(dimension => dimension === name))
  if (wrong === undefined) return names as SummaryDimension[]
  throw unprocessable(`by: ${wrong} is not one of ${known.join(', ')}`, 'by')
}

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

export const usageRoutes: Routes<UsageDeps> = {
  'GET /usage': {
    access: 'member',
    summary: 'Requests, newest first',
    query: { ...FILTERED, ...PAGED, with: '`choices` for what can be filtered by.' },
    answers: { 200: UsageList },
    handle: async ({ call, actor, deps }) => ok(await listUsage(call.query, actor, deps)),
  },
  'GET /usage/*': {
    access: 'member',
    summary: 'One request with its receipt, and with what was asked and answered if its key stores that',
    answers: { 200: UsageReceiptView },
    handle: async ({ ids: [id = ''], actor, deps }) => ok(await showUsage(id, actor, deps)),
  },
  'GET /usage/summary': {
    access: 'member',
    summary: 'Sums, by the dimensions that are asked for',
    query: { ...FILTERED, by: `Some of ${SUMMARY_DIMENSIONS.join(', ')}, with commas between them.` },
    answers: { 200: SummaryList },
    handle: async ({ call, actor, deps }) => ok(await summarize(call.query, actor, deps)),
  },
}
