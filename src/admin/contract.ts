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

export interface EntryView {
  readonly id: string
  readonly kind: 'topup' | 'charge' | 'adjustment'
  readonly amount: string
  readonly balance: string
  readonly source: string
  readonly key: string | null
  readonly note: string | null
  readonly at: string
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

export interface ModelView {
  readonly id: string
  readonly name: string
  readonly price: {
    readonly input: string
    readonly output: string
    readonly cache_read: string
    readonly cache_write: string
  }
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
  readonly priority: number
  readonly weight: number
  readonly groups: readonly string[]
}

export interface List<T> {
  readonly data: readonly T[]
  readonly next: string | null
}

export interface ErrorView {
  readonly error: { readonly code: string; readonly message: string; readonly param?: string }
}
