import { z } from 'zod'
import type { Account, Directory, Page } from '../core/directory.ts'
import type { Entry, UsageRow } from '../core/ledger.ts'
import { formatDollars } from '../core/money.ts'
import type { Records } from '../core/records.ts'
import { accountFor } from './accounts.ts'
import { type Cell, type CsvTable, csvLines } from './csv.ts'
import { readTime } from './input.ts'
import type { Actor, AdminReply, Matched, Routes } from './route.ts'
import { Slots } from './slots.ts'
import { FILTERED, readFilter, refuseUnknown } from './usage-filter.ts'
import { isoTime, viewUsages } from './usage-view.ts'

export interface ExportsDeps {
  readonly directory: Directory
  readonly records: Records
  readonly clock: () => number
}

/** As many rows as the tables that people open such files with can show. */
const ROWS_MAX = 1_000_000
/** Rows that are read and written without a pause. */
const SLICE_ROWS = 500

// ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────────

const USAGE_COLUMNS = [
  ...['started_at', 'request_id', 'account', 'key', 'key_name', 'model', 'channel', 'protocol', 'upstream_protocol'],
  ...['stream', 'status', 'ending', 'input', 'cache_read', 'cache_write', 'output', 'reasoning', 'source', 'cost'],
  ...['first_byte_ms', 'duration_ms', 'error', 'attempts'],
]

async function exportUsage({ call, actor, deps }: Matched<ExportsDeps>): Promise<AdminReply> {
  const filter = await readFilter(call.query, [], { actor, ...deps })
  return csvFile(
    { name: 'usage', actor, now: deps.clock() },
    {
      columns: USAGE_COLUMNS,
      read: cursor => deps.records.usage({ ...filter, cursor, limit: SLICE_ROWS }),
      cells: rows => usageCells(rows, actor, deps),
      signal: call.signal,
    },
  )
}

async function usageCells(rows: readonly UsageRow[], actor: Actor, { directory }: ExportsDeps): Promise<Cell[][]> {
  const views = await viewUsages(rows, { actor, directory })
  return views.map(({ tokens, cost, ...view }, place) => [
    ...[view.started_at, view.request_id, view.account, view.key, view.key_name, view.model, view.channel],
    ...[view.protocol, view.upstream_protocol, view.stream, view.status, view.ending],
    ...[tokens.input, tokens.cache_read, tokens.cache_write, tokens.output, tokens.reasoning, view.source],
    ...[{ amount: cost }, view.first_byte_ms, view.duration_ms, rows[place]?.error ?? null, view.attempts],
  ])
}

// ── entries ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const ENTRY_COLUMNS = ['time', 'kind', 'amount', 'balance', 'source', 'key', 'note', 'hash']

async function exportEntries({ call, ids: [id = ''], actor, deps }: Matched<ExportsDeps>): Promise<AdminReply> {
  refuseUnknown(call.query, ['from', 'to'])
  const account = await accountFor(actor, id, deps.directory)
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = {
    from: readTime(call.query, 'from'),
    to: readTime(call.query, 'to'),
  }
  return csvFile(
    { name: `entries-${account.id}`, actor, now: deps.clock() },
    {
      columns: ENTRY_COLUMNS,
      read: cursor => entriesIn({ account, from, to, cursor }, deps),
      cells: async entries => entries.map(entryCells),
      signal: call.signal,
    },
  )
}

interface EntriesRange {
  readonly account: Account
  readonly from: number
  readonly to: number
  readonly cursor: string | undefined
}

/** Entries stand in the order they were written, which is that of their times but for calls that ended together. */
const DISORDER_MS_MAX = 86_400_000

async function entriesIn({ account, from, to, cursor }: EntriesRange, { records }: ExportsDeps): Promise<Page<Entry>> {
  const { rows, next } = await records.entries(account.id, { cursor, limit: SLICE_ROWS })
  const isPast = rows.every(({ at }) => at < from - DISORDER_MS_MAX)
  return { rows: rows.filter(({ at }) => at >= from && at < to), next: isPast ? undefined : next }
}

const entryCells = ({ at, kind, amount, balance, source, keyId, note, hash }: Entry): Cell[] => [
  ...[isoTime(at), kind, { amount: formatDollars(amount) }, { amount: formatDollars(balance) }],
  ...[source, keyId ?? null, note ?? null, hash],
]

// ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const EXPORTS = new Slots({ what: 'exports', ofOneMax: 2, ofAllMax: 6 })

interface NamedFile {
  readonly name: string
  readonly actor: Actor
  readonly now: number
}

function csvFile<Row>({ name, actor, now }: NamedFile, table: CsvTable<Row>): AdminReply {
  const day = isoTime(now).slice(0, 'YYYY-MM-DD'.length)
  const parts = leaving(csvLines(table, ROWS_MAX), EXPORTS.take(actor, table.signal))
  return { status: 200, file: { name: `duet-${name}-${day}.csv`, type: 'text/csv; charset=utf-8', parts } }
}

async function* leaving(parts: AsyncIterable<string>, leave: () => void): AsyncGenerator<string> {
  try {
    yield* parts
  } finally {
    leave()
  }
}

const CSV = z.string().describe('RFC 4180, with a row of names first.')

export const exportRoutes: Routes<ExportsDeps> = {
  'GET /usage.csv': {
    access: 'member',
    summary: `Requests as a table for spreadsheets, newest first, up to ${ROWS_MAX} of them`,
    query: FILTERED,
    answers: { 200: null },
    errors: [429, 503],
    media: { 'text/csv': CSV },
    handle: exportUsage,
  },
  'GET /accounts/*/entries.csv': {
    access: 'member',
    summary: `The ledger of an account as a table for spreadsheets, newest first, up to ${ROWS_MAX} entries`,
    query: { from: 'Made at this time or later.', to: 'Made before this time.' },
    answers: { 200: null },
    errors: [429, 503],
    media: { 'text/csv': CSV },
    handle: exportEntries,
  },
}
