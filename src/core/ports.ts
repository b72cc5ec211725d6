import type { ProtocolName } from './ask.ts'
import type { Nanos } from './money.ts'
import type { Usage, UsageSource } from './usage.ts'

/** What the rest of the house expects of a store. Only `app.ts` knows which store it is. */

export interface Account {
  readonly id: string
  readonly name: string
  readonly group: string
  readonly balance: Nanos
  readonly held: Nanos
  readonly spent: Nanos
  readonly createdAt: number
}

export interface Key {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** Enough of the secret to recognise it, never enough to use it. */
  readonly hint: string
  readonly cap: Nanos | undefined
  readonly spent: Nanos
  readonly held: Nanos
  readonly models: readonly string[] | undefined
  readonly expiresAt: number | undefined
  readonly enabled: boolean
  readonly createdAt: number
  readonly lastUsedAt: number | undefined
}

/** What authentication yields: who calls, and what the key may do. */
export interface Caller {
  readonly keyId: string
  readonly accountId: string
  readonly group: string
  readonly models: readonly string[] | undefined
}

export interface KeyDirectory {
  /** Undefined for a key that is unknown, revoked, disabled or expired: one and the same answer. */
  authenticate(secretHash: string, now: number): Promise<Caller | undefined>
}

// ── the ledger ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface HoldRequest {
  readonly requestId: string
  readonly accountId: string
  readonly keyId: string
  /** What the call may cost at most; taken if there is money for it. */
  readonly most: Nanos
  /** The least that makes the call worth starting. */
  readonly least: Nanos
  readonly at: number
}

export type HoldOutcome =
  | { readonly type: 'held'; readonly amount: Nanos }
  | { readonly type: 'balance-short'; readonly balance: Nanos; readonly available: Nanos }
  | { readonly type: 'cap-short'; readonly remaining: Nanos }

/** One row a request, for people. */
export interface UsageRecord {
  readonly requestId: string
  readonly accountId: string
  readonly keyId: string
  readonly model: string
  readonly channel: string
  readonly protocol: ProtocolName
  readonly upstreamProtocol: ProtocolName
  readonly stream: boolean
  /** `ok`, or the code of the failure that ended the request. */
  readonly status: string
  readonly usage: Usage
  readonly source: UsageSource
  readonly cost: Nanos
  readonly held: Nanos
  readonly startedAt: number
  readonly firstByteMs: number | undefined
  readonly durationMs: number
}

export interface Settled {
  readonly balance: Nanos
  /** Undefined for a key without a cap. */
  readonly keyRemaining: Nanos | undefined
}

export interface TopUp {
  readonly accountId: string
  readonly amount: Nanos
  /** The same source again is applied once. */
  readonly source: string
  readonly note: string | undefined
  readonly at: number
}

export interface TopUpOutcome {
  readonly applied: boolean
  readonly entry: Entry
}

export type EntryKind = 'topup' | 'charge' | 'adjustment'

export interface Entry {
  readonly id: number
  readonly accountId: string
  readonly kind: EntryKind
  readonly amount: Nanos
  readonly balance: Nanos
  readonly source: string
  readonly keyId: string | undefined
  readonly note: string | undefined
  readonly at: number
}

export type LedgerOperation =
  | { readonly type: 'hold'; readonly request: HoldRequest }
  | { readonly type: 'settle'; readonly record: UsageRecord }
  | { readonly type: 'top-up'; readonly topUp: TopUp }

export type LedgerOutcome = HoldOutcome | { readonly type: 'settled'; readonly settled: Settled } | ToppedUp

export interface ToppedUp {
  readonly type: 'topped-up'
  readonly outcome: TopUpOutcome | undefined
}

export interface LedgerStore {
  /** Applies a batch in its order, durably, as one transaction. */
  commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]>
  /** Releases what a killed process left held; returns how many holds there were. */
  releaseAbandoned(now: number): Promise<number>
}

// ── what operators manage ───────────────────────────────────────────────────────────────────────────────────────────

export interface NewKey {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly secretHash: string
  readonly hint: string
  readonly cap: Nanos | undefined
  readonly models: readonly string[] | undefined
  readonly expiresAt: number | undefined
  readonly createdAt: number
}

/** Absent members stay as they are; undefined values clear what may be absent. */
export type KeyChanges = Partial<Pick<Key, 'name' | 'cap' | 'models' | 'expiresAt' | 'enabled'>>

export interface Page<T> {
  readonly rows: readonly T[]
  readonly next: string | undefined
}

export interface PageRequest {
  readonly cursor: string | undefined
  readonly limit: number
}

export interface Directory extends KeyDirectory {
  /** Undefined if the name is taken. */
  createAccount(account: Pick<Account, 'id' | 'name' | 'group' | 'createdAt'>): Promise<Account | undefined>
  /** By id, or by name. */
  account(idOrName: string): Promise<Account | undefined>
  accounts(page: PageRequest): Promise<Page<Account>>
  entries(accountId: string, page: PageRequest): Promise<Page<Entry>>

  createKey(key: NewKey): Promise<Key>
  key(id: string): Promise<Key | undefined>
  keys(filter: { readonly accountId?: string } & PageRequest): Promise<Page<Key>>
  changeKey(id: string, changes: KeyChanges): Promise<Key | undefined>
  /** False for a key that is not there; its history stays. */
  revokeKey(id: string, now: number): Promise<boolean>
}

export interface Store {
  readonly ledger: LedgerStore
  readonly directory: Directory
  close(): void
}
