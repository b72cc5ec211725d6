import type { ProtocolName } from '../core/ask.ts'
import type { Attempt } from '../core/attempt.ts'
import type { Account, Key } from '../core/directory.ts'
import type { ChargeInputs, Ending, Entry, EntryKind, HeldCall, Hold, UsageRow } from '../core/ledger.ts'
import { type NanosPerMillion, nanos } from '../core/money.ts'
import { NO_PRICE, type PriceVersion } from '../core/price.ts'
import type { UsageSums } from '../core/records.ts'
import type { Usage, UsageSource } from '../core/usage.ts'

/** Rows as databases return them (64-bit integers are bigints), and what they mean. */

export interface AccountRow {
  readonly id: string
  readonly name: string
  readonly grp: string
  readonly balance: bigint
  readonly held: bigint
  readonly spent: bigint
  readonly created_at: bigint
  readonly entries: bigint
  readonly head: string
}

export const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  group: row.grp,
  balance: nanos(row.balance),
  held: nanos(row.held),
  spent: nanos(row.spent),
  createdAt: Number(row.created_at),
})

export interface KeyRow {
  readonly id: string
  readonly account_id: string
  readonly account_name: string
  readonly name: string
  readonly hint: string
  readonly cap: bigint | null
  readonly spent: bigint
  readonly held: bigint
  readonly models: string | null
  readonly expires_at: bigint | null
  readonly enabled: bigint
  readonly revoked_at: bigint | null
  readonly created_at: bigint
  readonly last_used_at: bigint | null
  readonly keep_days: bigint | null
  readonly max_concurrent: bigint | null
  readonly max_per_minute: bigint | null
}

export const toKey = (row: KeyRow): Key => ({
  id: row.id,
  accountId: row.account_id,
  accountName: row.account_name,
  name: row.name,
  hint: row.hint,
  cap: row.cap === null ? undefined : nanos(row.cap),
  spent: nanos(row.spent),
  held: nanos(row.held),
  models: row.models === null ? undefined : (JSON.parse(row.models) as string[]),
  expiresAt: toNumber(row.expires_at),
  enabled: row.enabled === 1n,
  keepDays: toNumber(row.keep_days),
  maxConcurrent: toNumber(row.max_concurrent),
  maxPerMinute: toNumber(row.max_per_minute),
  createdAt: Number(row.created_at),
  lastUsedAt: toNumber(row.last_used_at),
})

/** The columns of a call, the same in holds and in usage. */
interface CallRow {
  readonly model: string
  readonly channel: string
  readonly protocol: string
  readonly upstream_protocol: string
  readonly stream: bigint
  readonly price_id: bigint | null
}

const toCall = (row: CallRow): HeldCall => ({
  model: row.model,
  channel: row.channel,
  protocol: row.protocol as ProtocolName,
  upstreamProtocol: row.upstream_protocol as ProtocolName,
  stream: row.stream === 1n,
  priceId: Number(row.price_id ?? NO_PRICE),
})

export interface HoldRow extends CallRow {
  readonly request_id: string
  readonly account_id: string
  readonly key_id: string
  readonly amount: bigint
  readonly owner: string
  readonly expires_at: bigint
  readonly at: bigint
}

export const toHold = (row: HoldRow): Hold => ({
  requestId: row.request_id,
  accountId: row.account_id,
  keyId: row.key_id,
  amount: nanos(row.amount),
  owner: row.owner,
  expiresAt: Number(row.expires_at),
  at: Number(row.at),
  call: toCall(row),
})

/** An entry, and of a charge also the price that it names (`price_*`). */
export interface EntryRow {
  readonly account_id: string
  readonly seq: bigint
  readonly kind: string
  readonly amount: bigint
  readonly balance: bigint
  readonly source: string
  readonly key_id: string | null
  readonly note: string | null
  readonly at: bigint
  readonly input: bigint | null
  readonly cache_read: bigint | null
  readonly cache_write: bigint | null
  readonly output: bigint | null
  readonly price_id: bigint | null
  readonly hash: string
  readonly price_input?: bigint | null
  readonly price_output?: bigint | null
  readonly price_cache_read?: bigint | null
  readonly price_cache_write?: bigint | null
}

/** Entries with the prices that charges were made with. */
export const ENTRIES_WITH_PRICES = `
  SELECT e.*, p.input AS price_input, p.output AS price_output,
         p.cache_read AS price_cache_read, p.cache_write AS price_cache_write
  FROM entries e LEFT JOIN prices p ON p.id = e.price_id`

export const toEntry = (row: EntryRow): Entry => ({
  accountId: row.account_id,
  seq: Number(row.seq),
  kind: row.kind as EntryKind,
  amount: nanos(row.amount),
  balance: nanos(row.balance),
  source: row.source,
  keyId: row.key_id ?? undefined,
  note: row.note ?? undefined,
  at: Number(row.at),
  inputs: toInputs(row),
  hash: row.hash,
})

function toInputs(row: EntryRow): ChargeInputs | undefined {
  if (row.price_id === null) return undefined
  return {
    usage: {
      input: Number(row.input),
      cacheRead: Number(row.cache_read),
      cacheWrite: Number(row.cache_write),
      output: Number(row.output),
    },
    price: {
      id: Number(row.price_id),
      input: perMillion(row.price_input),
      output: perMillion(row.price_output),
      cacheRead: perMillion(row.price_cache_read),
      cacheWrite: perMillion(row.price_cache_write),
    },
  }
}

export interface PriceRow {
  readonly id: bigint
  readonly model: string
  readonly version: bigint
  readonly input: bigint
  readonly output: bigint
  readonly cache_read: bigint
  readonly cache_write: bigint
  readonly since: bigint
}

export const toPrice = (row: PriceRow): PriceVersion => ({
  id: Number(row.id),
  model: row.model,
  version: Number(row.version),
  input: perMillion(row.input),
  output: perMillion(row.output),
  cacheRead: perMillion(row.cache_read),
  cacheWrite: perMillion(row.cache_write),
  since: Number(row.since),
})

/** The columns of token counts, the same in usage and in its sums. */
interface TokensRow {
  readonly input: bigint
  readonly cache_read: bigint
  readonly cache_write: bigint
  readonly output: bigint
  readonly reasoning: bigint
}

const toTokens = (row: TokensRow): Usage => ({
  input: Number(row.input),
  cacheRead: Number(row.cache_read),
  cacheWrite: Number(row.cache_write),
  output: Number(row.output),
  reasoning: Number(row.reasoning),
})

export interface UsageTableRow extends CallRow, TokensRow {
  readonly id: bigint
  readonly request_id: string
  readonly account_id: string
  readonly key_id: string
  readonly status: string
  readonly ending: string | null
  readonly source: string
  readonly cost: bigint
  readonly held: bigint
  readonly started_at: bigint
  readonly first_byte_ms: bigint | null
  readonly duration_ms: bigint
  readonly entry_seq: bigint | null
  readonly error: string | null
  readonly attempts: string | null
}

export const toUsage = (row: UsageTableRow): UsageRow => ({
  requestId: row.request_id,
  accountId: row.account_id,
  keyId: row.key_id,
  call: toCall(row),
  status: row.status,
  error: row.error ?? undefined,
  ending: (row.ending ?? undefined) as Ending | undefined,
  usage: toTokens(row),
  source: row.source as UsageSource,
  cost: nanos(row.cost),
  held: nanos(row.held),
  startedAt: Number(row.started_at),
  firstByteMs: toNumber(row.first_byte_ms),
  durationMs: Number(row.duration_ms),
  ...(row.attempts === null ? {} : { attempts: JSON.parse(row.attempts) as Attempt[] }),
})

/** What rows of `usage_hours` or `usage_days` add up to. */
export const HOUR_SUMS = ['requests', 'input', 'cache_read', 'cache_write', 'output', 'reasoning', 'cost']
  .map(column => `CAST(sum(${column}) AS BIGINT) AS ${column}`)
  .join(', ')

export interface HourSumsRow extends TokensRow {
  readonly requests: bigint
  readonly cost: bigint
}

export const toSums = (row: HourSumsRow): UsageSums => ({
  requests: Number(row.requests),
  usage: toTokens(row),
  cost: nanos(row.cost),
})

export const toNumber = (value: bigint | null): number | undefined => (value === null ? undefined : Number(value))

const perMillion = (value: bigint | null | undefined): NanosPerMillion => (value ?? 0n) as NanosPerMillion
