import type { ProtocolName } from './ask.ts'
import type { Page, PageRequest } from './directory.ts'
import type { ChargeInputs, Entry, UsageRow } from './ledger.ts'
import { type Nanos, nanos, ZERO } from './money.ts'
import type { PriceVersion } from './price.ts'
import { addUsage, NO_USAGE, type Usage } from './usage.ts'

/** What was used and paid, as operators ask for it. */

export interface UsageFilter {
  readonly accountId?: string
  readonly keyId?: string
  readonly model?: string
  /** A status, or `error` for every one but `ok`. */
  readonly status?: string
  /** The caller's. */
  readonly protocol?: ProtocolName
  readonly channel?: string
  /** Requests that started at this time or later. */
  readonly from?: number
  /** Requests that started before this time. */
  readonly to?: number
}

/** A record with everything that explains its bill. */
export interface Receipt {
  readonly row: UsageRow
  /** Undefined for calls made before prices had versions. */
  readonly price: PriceVersion | undefined
  /** Undefined where nothing was charged. */
  readonly entry: Entry | undefined
}

export const SUMMARY_DIMENSIONS = ['day', 'hour', 'account', 'key', 'model', 'channel', 'protocol', 'status'] as const

export type SummaryDimension = (typeof SUMMARY_DIMENSIONS)[number]

/** Sums are kept by the hour, so a range is widened to whole hours. */
export const SUMMARY_MS = 3_600_000

export interface UsageSums {
  readonly requests: number
  readonly usage: Usage
  readonly cost: Nanos
}

export const NO_SUMS: UsageSums = { requests: 0, usage: NO_USAGE, cost: ZERO }

export const addSums = (a: UsageSums, b: UsageSums): UsageSums => ({
  requests: a.requests + b.requests,
  usage: addUsage(a.usage, b.usage),
  cost: nanos(a.cost + b.cost),
})

export interface SummaryRow extends UsageSums {
  /** The value of each dimension that was asked for; `day` and `hour` are times of their beginning. */
  readonly by: Partial<Record<SummaryDimension, string | number>>
  /** All that did not end well. */
  readonly errors: number
  /** Those of them that were turned away before they reached an upstream. */
  readonly refused: number
}

/** How long the latest answers took, in milliseconds; undefined where there is nothing to measure. */
export interface Latency {
  /** How many answers this was measured on. */
  readonly sample: number
  readonly duration: Percentiles | undefined
  readonly firstByte: Percentiles | undefined
}

export interface Percentiles {
  readonly p50: number
  readonly p95: number
}

/** Records that were written since the last look. */
export interface NewUsage {
  /** Oldest first; if there are more than asked for, the newest of them. */
  readonly rows: readonly UsageRow[]
  /** Where the next look begins. */
  readonly place: number
}

export interface Records {
  /** Newest first. */
  usage(filter: UsageFilter & PageRequest): Promise<Page<UsageRow>>
  receipt(requestId: string): Promise<Receipt | undefined>
  /** Where the records end now. */
  usagePlace(): Promise<number>
  /** Records are numbered as they are written, so none appears behind a place that was passed. */
  usageSince(place: number, filter: Pick<UsageFilter, 'accountId'>, rowsMax: number): Promise<NewUsage>
  /** Of those that were answered among the latest `sampleMax`. */
  latency(filter: UsageFilter, sampleMax: number): Promise<Latency>
  /** Stops at more than `rowsMax` rows. */
  summary(by: readonly SummaryDimension[], filter: UsageFilter, rowsMax: number): Promise<readonly SummaryRow[]>
  /** Newest first. */
  entries(accountId: string, page: PageRequest): Promise<Page<Entry>>
}

// ── the audit ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** What an account's row says; every number of it can be computed from other rows. */
export interface AccountClaims {
  readonly id: string
  readonly balance: Nanos
  readonly spent: Nanos
  readonly held: Nanos
  readonly entries: number
  readonly head: string
  readonly keys: readonly KeyClaims[]
  /** What the rows of holds add up to. */
  readonly heldInRows: Nanos
}

export interface KeyClaims {
  readonly id: string
  readonly spent: Nanos
  readonly held: Nanos
  readonly heldInRows: Nanos
}

/** What entries add up to that are not kept any more: of an account, up to and with number `seq`. */
export interface Opening {
  readonly seq: number
  readonly head: string
  readonly balance: Nanos
  readonly spentByKey: ReadonlyMap<string, Nanos>
}

/** Some entries of an account, oldest first; with the last of them comes what the account claims at that moment. */
export interface EntriesSlice {
  /** Where entries after the number that was asked for are not kept any more: the first one here follows on from this. */
  readonly opening: Opening | undefined
  readonly entries: readonly Entry[]
  readonly isLast: boolean
  /** Of the last slice; undefined if the account is not there. */
  readonly claims: AccountClaims | undefined
}

export interface AuditedUsage {
  readonly id: number
  readonly row: UsageRow
  readonly price: PriceVersion | undefined
  /** The entry that charged it; undefined where there is none. */
  readonly charge: Charge | undefined
}

export interface Charge {
  readonly amount: Nanos
  readonly keyId: string
  readonly at: number
  /** Undefined for charges from before prices had versions. */
  readonly usage: ChargeInputs['usage'] | undefined
}

/** Some usage records in the order they were written; with the last of them come the sums kept by the hour. */
export interface UsageSlice {
  /** Requests that started before this time are in none of it. Where that has changed, what came before does not belong here. */
  readonly keptSince: number
  readonly rows: readonly AuditedUsage[]
  /** By account. */
  readonly sums: ReadonlyMap<string, UsageSums> | undefined
}

/** Reads what there is in slices that are consistent in themselves, while the ledger goes on. */
export interface Audit {
  /** How many entries and usage records there are to check, and how many holds are open. */
  size(): Promise<{ readonly rows: number; readonly holds: number }>
  /** Of all accounts, and of all that have entries. */
  accountIds(): Promise<readonly string[]>
  entriesAfter(accountId: string, seq: number, limit: number): Promise<EntriesSlice>
  usageAfter(id: number, limit: number): Promise<UsageSlice>
}
