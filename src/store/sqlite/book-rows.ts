import type { AccountState, Book, KeyState } from '../../core/book.ts'
import type { Entry, Hold, NewRecord } from '../../core/ledger.ts'
import { NO_PRICE } from '../../core/price.ts'
import { SUMMARY_MS } from '../../core/records.ts'
import type { Row, Rows } from './pending.ts'

/** The rows that a book's changes are. What no table would take throws here, before anybody is told that it is written. */
export function rowsOf(book: Book): Rows {
  return {
    taken: Array.from(book.taken.values(), holdRow),
    changed: Array.from(book.changed, ([requestId, hold]) => (hold ? holdRow(hold) : [requestId])),
    entries: book.entries.map(entryRow),
    usage: book.records.map(usageRow),
    hours: hoursOf(book.records).map(hourRow),
    accounts: Array.from(book.accounts.values(), accountRow),
    keys: Array.from(book.keys.values(), keyRow),
  }
}

// biome-ignore format: the columns in their order
const holdRow = ({ requestId, accountId, keyId, amount, owner, expiresAt, at, call }: Hold): Row => [
  requestId, accountId, keyId, exact(amount), owner, whole(expiresAt), whole(at),
  call.model, call.channel, call.protocol, call.upstreamProtocol, call.stream ? 1 : 0, call.priceId,
]

const entryRow = ({ accountId, seq, kind, amount, balance, source, keyId, note, at, inputs, hash }: Entry): Row => {
  const usage = inputs?.usage
  // biome-ignore format: the columns in their order
  return [
    accountId, seq, kind, exact(amount), exact(balance), source, keyId ?? null, note ?? null, whole(at),
    usage?.input ?? null, usage?.cacheRead ?? null, usage?.cacheWrite ?? null, usage?.output ?? null,
    inputs?.price.id ?? null, hash,
  ]
}

const usageRow = ({ closing, cost, held, entrySeq }: NewRecord): Row => {
  const { requestId, accountId, keyId, call, status, ending, usage, source, firstByteMs, error, attempts } = closing
  // biome-ignore format: the columns in their order
  return [
    requestId, accountId, keyId,
    call.model, call.channel, call.protocol, call.upstreamProtocol, call.stream ? 1 : 0, status, ending ?? null,
    whole(usage.input), whole(usage.cacheRead), whole(usage.cacheWrite), whole(usage.output), whole(usage.reasoning),
    source, call.priceId === NO_PRICE ? null : call.priceId, exact(cost), exact(held), whole(closing.startedAt),
    firstByteMs === undefined ? null : whole(firstByteMs), whole(closing.durationMs), entrySeq ?? null,
    error ?? null, attempts ? JSON.stringify(attempts) : null,
  ]
}

// biome-ignore format: the columns in their order
const accountRow = ({ id, balance, held, spent, entries, head }: AccountState): Row =>
  [exact(balance), exact(held), exact(spent), entries, head, id]

const keyRow = ({ id, spent, held }: KeyState): Row => [exact(spent), exact(held), id]

// biome-ignore format: the columns in their order
const hourRow = ({ at, accountId, keyId, model, channel, protocol, status, ...sums }: Hour): Row => [
  at, accountId, keyId, model, channel, protocol, status,
  sums.requests, sums.input, sums.cacheRead, sums.cacheWrite, sums.output, sums.reasoning, exact(sums.cost),
]

// ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The database takes a floating-point number for an integer up to here. */
const WHOLE_MAX = 2 ** 51
const COLUMN_MAX = 2n ** 63n

const isWhole = (value: number): boolean => Number.isInteger(value) && value < WHOLE_MAX && value > -WHOLE_MAX

function whole(value: number): number {
  if (isWhole(value)) return value
  throw new Error(`${value} cannot be written as a whole number`)
}

/** A number while that is exact; else its digits, of which an integer column makes the same integer. */
function exact(amount: bigint): number | string {
  const near = Number(amount)
  if (isWhole(near)) return near
  if (amount < COLUMN_MAX && amount >= -COLUMN_MAX) return amount.toString()
  throw new Error(`${amount} is more than a column takes`)
}

// ── hours ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What one batch adds to one row of sums. */
interface Hour {
  readonly at: number
  readonly accountId: string
  readonly keyId: string
  readonly model: string
  readonly channel: string
  readonly protocol: string
  readonly status: string
  requests: number
  input: number
  cacheRead: number
  cacheWrite: number
  output: number
  reasoning: number
  cost: bigint
}

function hoursOf(records: readonly NewRecord[]): Hour[] {
  const hours: Hour[] = []
  const byKey = new Map<string, Hour[]>()
  for (const { closing, cost } of records) {
    const { accountId, keyId, call, status, usage, startedAt } = closing
    const { model, channel, protocol } = call
    const at = Math.floor(startedAt / SUMMARY_MS)
    const ofKey = byKey.get(keyId) ?? []
    let hour = ofKey.find(
      known =>
        known.at === at &&
        known.model === model &&
        known.channel === channel &&
        known.protocol === protocol &&
        known.status === status,
    )
    if (!hour) {
      const nothing = { requests: 0, input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0, cost: 0n }
      hour = { at, accountId, keyId, model, channel, protocol, status, ...nothing }
      hours.push(hour)
      byKey.set(keyId, [...ofKey, hour])
    }
    hour.requests++
    hour.input += usage.input
    hour.cacheRead += usage.cacheRead
    hour.cacheWrite += usage.cacheWrite
    hour.output += usage.output
    hour.reasoning += usage.reasoning
    hour.cost += cost
  }
  return hours
}
