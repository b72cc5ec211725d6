import { nanos } from '../core/money.ts'
import type { Opening } from '../core/records.ts'
import { ask, type Dialect, type Work } from './database.ts'

/** What is not kept any more, and what it added up to. The embedded database keeps everything. */

interface OpeningRow {
  readonly seq: bigint
  readonly head: string
  readonly balance: bigint
}

/** Undefined where all entries after this number are there. */
export function* openingAfter(engine: Dialect['name'], accountId: string, seq: number): Work<Opening | undefined> {
  if (engine === 'sqlite') return undefined
  const row = yield* ask.get<OpeningRow>(
    'SELECT seq, head, balance FROM openings WHERE account_id = ? AND seq > ?',
    accountId,
    seq,
  )
  if (!row) return undefined
  const keys = yield* ask.all<{ key_id: string; spent: bigint }>(
    'SELECT key_id, spent FROM key_openings WHERE account_id = ?',
    accountId,
  )
  return {
    seq: Number(row.seq),
    head: row.head,
    balance: nanos(row.balance),
    spentByKey: new Map(keys.map(({ key_id, spent }) => [key_id, nanos(spent)])),
  }
}

/** How many entries there were that are gone. */
export function* entriesGone(engine: Dialect['name']): Work<number> {
  if (engine === 'sqlite') return 0
  const row = yield* ask.get<{ n: bigint | null }>('SELECT CAST(sum(seq) AS BIGINT) AS n FROM openings')
  return Number(row?.n ?? 0)
}

/** Records of requests that started before this are gone, or about to go. */
export function* usageKeptSince(engine: Dialect['name']): Work<number> {
  if (engine === 'sqlite') return 0
  const row = yield* ask.get<{ kept_since: bigint }>('SELECT kept_since FROM horizon')
  return Number(row?.kept_since ?? 0)
}
