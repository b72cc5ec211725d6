/** The management API as its clients see it. Amounts are decimal strings in dollars, times are ISO 8601. */

export interface AccountView {
  readonly id: string
  readonly name: string
  readonly group: string
  readonly balance: string
  readonly held: string
  readonly spent: string
  readonly created_at: string
}

/** One change of a balance. */
export interface EntryView {
  /** Counted for each account from 1, without gaps. */
  readonly id: string
  readonly kind: 'topup' | 'charge' | 'adjustment'
  readonly amount: string
  readonly balance: string
  readonly source: string
  readonly key: string | null
  readonly note: string | null
  readonly at: string
  /** Over this entry and the hash of the one before it. */
  readonly hash: string
}

/** The answer to a top-up or an adjustment. */
export interface DepositView extends EntryView {
  /** After it. */
  readonly account: AccountView
}

export interface KeyView {
  readonly id: string
  readonly account: string
  readonly name: string
  readonly hint: string
  readonly cap: string | null
  readonly spent: string
  readonly remaining: string | null
  readonly models: readonly string[] | null
  readonly expires_at: string | null
  readonly enabled: boolean
  readonly created_at: string
  readonly last_used_at: string | null
}

/** The only time the secret is shown. */
export interface NewKeyView extends KeyView {
  readonly key: string
}

/** Dollars per million tokens. */
export interface PriceView {
  readonly input: string
  readonly output: string
  readonly cache_read: string
  readonly cache_write: string
}

export interface ModelView {
  readonly id: string
  readonly name: string
  /** In force now; null for a model that nobody has priced, which is refused. */
  readonly price: (PriceView & { readonly version: number }) | null
  readonly context_length: number
  readonly max_output_tokens: number
  readonly images: 'ignore' | 'reject' | 'forward'
  readonly recommended: boolean
  readonly reasoning: boolean
  readonly channels: readonly string[]
}

export interface ChannelView {
  readonly name: string
  readonly protocol: 'chat' | 'messages'
  readonly base_url: string
  readonly models: Readonly<Record<string, string>>
  /** What each model of it can be given, by catalog id. */
  readonly capabilities: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly priority: number
  readonly weight: number
  readonly groups: readonly string[]
}

/** One tiny call for each protocol that callers speak, outside all accounts. */
export interface ChannelTestView {
  readonly channel: string
  readonly model: string
  /** Every attempt was answered. */
  readonly ok: boolean
  readonly attempts: readonly ChannelAttemptView[]
}

export interface ChannelAttemptView {
  readonly client: 'chat' | 'messages'
  readonly upstream: 'chat' | 'messages'
  readonly ok: boolean
  readonly duration_ms: number
  /** What the upstream was sent, translated if need be; no credential is in it. */
  readonly request: object
  readonly answer: string | null
  readonly error: { readonly code: string; readonly message: string } | null
}

export interface TokensView {
  readonly input: number
  readonly cache_read: number
  readonly cache_write: number
  readonly output: number
  /** A part of `output`. */
  readonly reasoning: number
}

/** One request. */
export interface UsageView {
  readonly request_id: string
  readonly account: string
  readonly key: string
  readonly model: string
  readonly channel: string
  readonly protocol: 'chat' | 'messages'
  readonly upstream_protocol: 'chat' | 'messages'
  readonly stream: boolean
  /** `ok`, or the code of what ended the request: `client_gone`, `upstream_error`, `interrupted`, ... */
  readonly status: string
  /** Why the answer ended: `stop`, `length`, `tool-calls`, ..., `funds` if the money was used up. */
  readonly ending: string | null
  readonly tokens: TokensView
  /** Where the numbers come from: `upstream`, `counted` from what was relayed, or `estimated`. */
  readonly source: 'upstream' | 'counted' | 'estimated'
  readonly cost: string
  readonly started_at: string
  readonly first_byte_ms: number | null
  readonly duration_ms: number
}

/** One line of a bill. */
export interface BillLineView {
  readonly class: 'input' | 'cache_read' | 'cache_write' | 'output'
  readonly tokens: number
  /** Dollars per million tokens. */
  readonly price: string
  /** Exact, before the one rounding. */
  readonly amount: string
}

export interface AttemptView {
  readonly channel: string
  readonly protocol: 'chat' | 'messages'
  /** `ok`, or the code of the failure. */
  readonly status: string
  readonly first_byte_ms: number | null
  readonly duration_ms: number
}

/** Everything that explains a bill. */
export interface ReceiptView {
  /** What was held before it was spent, and what of it came back; below zero if more was used than held. */
  readonly hold: { readonly amount: string; readonly returned: string }
  readonly tokens: TokensView & { readonly source: UsageView['source'] }
  /** The version the charge was made with; null for calls from before prices had versions. */
  readonly price: (PriceView & { readonly version: number; readonly since: string }) | null
  readonly arithmetic: {
    readonly lines: readonly BillLineView[]
    /** Of all lines, exact. */
    readonly sum: string
    /** What the one rounding, upwards to a billionth of a dollar, added. */
    readonly rounding: string
    readonly total: string
  }
  /** The ledger entry that charged it; null where nothing was charged. */
  readonly entry: EntryView | null
  readonly attempts: readonly AttemptView[]
  readonly timings: {
    readonly started_at: string
    readonly first_byte_ms: number | null
    readonly duration_ms: number
    readonly ended_at: string
  }
}

export interface UsageReceiptView extends UsageView {
  readonly receipt: ReceiptView
}

export interface SummaryView {
  /** ISO 8601 dates: `2026-11-15`. Each dimension that was asked for is a member; others are absent. */
  readonly day?: string
  readonly hour?: string
  readonly account?: string
  readonly key?: string
  readonly model?: string
  readonly channel?: string
  readonly protocol?: string
  readonly status?: string
  readonly requests: number
  readonly errors: number
  readonly tokens: TokensView
  readonly cost: string
}

export interface SummaryList extends List<SummaryView> {
  /** The range that was summed: the one asked for, widened to whole hours. */
  readonly from: string | null
  readonly to: string | null
  readonly total: Omit<SummaryView, SummaryDimensionName>
}

export type SummaryDimensionName = 'day' | 'hour' | 'account' | 'key' | 'model' | 'channel' | 'protocol' | 'status'

/** The first row that does not fit. */
export interface ProblemView {
  readonly table: 'entries' | 'accounts' | 'keys' | 'usage' | 'usage_hours'
  /** Its account and number, or its id. */
  readonly row: string
  readonly problem: string
  readonly expected: string
  readonly found: string
}

export interface VerifyView {
  readonly ok: boolean
  readonly accounts: number
  readonly entries: number
  readonly charges: number
  /** Charges from before prices had versions: chained and summed, but not computed again. */
  readonly unpriced: number
  readonly usage: number
  readonly open_holds: number
  readonly balance: string
  readonly problem: ProblemView | null
  /** The hash of each account's last entry: whoever keeps it elsewhere can tell if the end was cut off. */
  readonly heads: Readonly<Record<string, string>>
}

/** One JSON object a line: for answers that take their time. */
export const NDJSON = 'application/x-ndjson'

/** A line of a verification under way, for those who accept NDJSON; the last line is the result. */
export interface VerifyProgressView {
  readonly checked: number
  readonly total: number
}

export interface List<T> {
  readonly data: readonly T[]
  readonly next: string | null
}

export interface ErrorView {
  readonly error: { readonly code: string; readonly message: string; readonly param?: string }
}
