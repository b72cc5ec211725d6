import type { Attempt } from '../core/attempt.ts'
import type { UsageRow } from '../core/ledger.ts'
import { formatDollars, formatMillionths, type Nanos, nanos, tally, toMillionths } from '../core/money.ts'
import { formatPrice, type Price, TOKEN_CLASSES, type TokenClass } from '../core/price.ts'
import type { Receipt } from '../core/records.ts'
import type { Usage } from '../core/usage.ts'
import { viewEntry } from './accounts.ts'
import type { AttemptView, BillLineView, ReceiptView, TokensView } from './contract.ts'

/** How a bill came about, so that anyone can compute it again. */
export function viewReceipt({ row, price, entry }: Receipt, { showChannel }: { showChannel: boolean }): ReceiptView {
  const { usage, source, cost, held, startedAt, durationMs } = row
  return {
    hold: { amount: formatDollars(held), returned: formatDollars(nanos(held - cost)) },
    tokens: { ...viewTokens(usage), source },
    price: price ? { ...formatPrice(price), version: price.version, since: new Date(price.since).toISOString() } : null,
    arithmetic: { ...(price ? arithmetic(usage, price, cost) : UNKNOWN), total: formatDollars(cost) },
    entry: entry ? viewEntry(entry) : null,
    attempts: attemptsOf(row).map(attempt => viewAttempt(attempt, showChannel)),
    timings: {
      started_at: new Date(startedAt).toISOString(),
      first_byte_ms: row.firstByteMs ?? null,
      duration_ms: durationMs,
      ended_at: new Date(startedAt + durationMs).toISOString(),
    },
  }
}

/** All of them, in their order. A record of one attempt says of the request what there is to say of the attempt. */
export function attemptsOf({ attempts, call, status, error, firstByteMs, durationMs }: UsageRow): readonly Attempt[] {
  if (attempts) return attempts
  // What was refused before a channel was chosen was tried nowhere.
  if (call.channel === '') return []
  const { channel, upstreamProtocol: protocol } = call
  return [{ channel, keyId: undefined, protocol, status, error, startMs: 0, firstByteMs, durationMs }]
}

const viewAttempt = (attempt: Attempt, showChannel: boolean): AttemptView => ({
  channel: showChannel ? attempt.channel : '',
  key: (showChannel && attempt.keyId) || '',
  protocol: attempt.protocol,
  status: attempt.status,
  error: attempt.error ?? null,
  start_ms: attempt.startMs,
  first_byte_ms: attempt.firstByteMs ?? null,
  duration_ms: attempt.durationMs,
})

export const viewTokens = (usage: Usage): TokensView => ({
  input: usage.input,
  cache_read: usage.cacheRead,
  cache_write: usage.cacheWrite,
  output: usage.output,
  reasoning: usage.reasoning,
})

const UNKNOWN = { lines: [], sum: '0.00', rounding: '0.00' }

const CLASS_NAMES: Record<TokenClass, BillLineView['class']> = {
  input: 'input',
  cacheRead: 'cache_read',
  cacheWrite: 'cache_write',
  output: 'output',
}

function arithmetic(usage: Usage, price: Price, cost: Nanos) {
  const amounts = TOKEN_CLASSES.map(name => tally(usage[name], price[name]))
  const sum = amounts.reduce((total, amount) => total + amount, 0n)
  const prices = formatPrice(price)
  return {
    lines: TOKEN_CLASSES.map((name, place) => ({
      class: CLASS_NAMES[name],
      tokens: usage[name],
      price: prices[CLASS_NAMES[name]],
      amount: formatMillionths(amounts[place] ?? 0n),
    })),
    sum: formatMillionths(sum),
    rounding: formatMillionths(toMillionths(cost) - sum),
  }
}
