import type { ProtocolName } from './ask.ts'
import type { Attempt } from './attempt.ts'
import type { Nanos } from './money.ts'
import type { Price, PriceVersion } from './price.ts'
import type { StoredAnswer } from './repeats.ts'
import type { FinishReason } from './turn.ts'
import type { Usage, UsageSource } from './usage.ts'

/** What is asked of a ledger, and what it answers. `book.ts` has the rules; a store keeps what they decide. */

/** What is being asked of whom: kept with the hold, so that a record can be made even if the process dies. */
export interface HeldCall {
  readonly model: string
  readonly channel: string
  readonly protocol: ProtocolName
  readonly upstreamProtocol: ProtocolName
  readonly stream: boolean
  readonly priceId: number
}

export interface HoldRequest {
  readonly requestId: string
  readonly accountId: string
  readonly keyId: string
  readonly call: HeldCall
  /** What the call may cost at most; taken if there is money for it. */
  readonly most: Nanos
  /** The least that makes the call worth starting. */
  readonly least: Nanos
  readonly at: number
}

/** Whose hold it is, and until when it is certain that the owner lives. */
export interface Lease {
  readonly owner: string
  readonly expiresAt: number
}

/** Whose holds stay: those of the calls that this owner has under way. */
export interface Survivors {
  readonly owner: string
  readonly underWay: Pick<ReadonlySet<string>, 'has'>
}

export interface Hold extends Lease {
  readonly requestId: string
  readonly accountId: string
  readonly keyId: string
  readonly call: HeldCall
  readonly amount: Nanos
  readonly at: number
}

/** More money for a call under way. */
export interface Extension {
  readonly requestId: string
  readonly most: Nanos
  readonly least: Nanos
}

export interface Held {
  /** All that is held for the call now. */
  readonly amount: Nanos
  /** All that could have been: what is left on the account, or of the key's cap. */
  readonly available: Nanos
}

export type HoldOutcome =
  | ({ readonly type: 'held' } & Held)
  | { readonly type: 'balance-short'; readonly balance: Nanos; readonly available: Nanos }
  | { readonly type: 'cap-short'; readonly remaining: Nanos }
  /** The key was revoked or disabled since the caller was let in. */
  | { readonly type: 'key-unusable' }
  /** The call is over: there is nothing to extend. */
  | { readonly type: 'no-hold' }

/** What ended an answer that could have gone on: the money there was, or the ceiling that the caller had set. */
export type Shortage = 'funds' | 'ceiling'

/** How an answer ended that was not broken off: as the model said, or because no more was to be spent on it. */
export type Ending = FinishReason | Shortage

/** What a call came to. */
export interface Closing {
  readonly requestId: string
  readonly accountId: string
  readonly keyId: string
  readonly call: HeldCall
  readonly price: PriceVersion
  /** `ok`, or the code of the failure that ended the request. */
  readonly status: string
  /** What the caller was told went wrong; undefined where nothing did, and where nobody was left to be told. */
  readonly error?: string | undefined
  readonly ending: Ending | undefined
  readonly usage: Usage
  readonly source: UsageSource
  readonly startedAt: number
  readonly firstByteMs: number | undefined
  readonly durationMs: number
  /** All of them, in their order, where it took more than one; undefined where the first upstream that was asked answered. */
  readonly attempts?: readonly Attempt[] | undefined
  /** For whoever asks again under the same name: stored together with the charge, or not at all. */
  readonly answer?: StoredAnswer | undefined
}

/** A request that was turned away before anything was held for it. It was sent nowhere and costs nothing. */
export interface Refusal
  extends Pick<Closing, 'requestId' | 'accountId' | 'keyId' | 'status' | 'startedAt' | 'durationMs'> {
  readonly error: string
  /** As the caller named it: it need not exist. */
  readonly model: string
  readonly protocol: ProtocolName
  readonly stream: boolean
}

export interface Settled {
  readonly cost: Nanos
  readonly balance: Nanos
  /** Undefined for a key without a cap. */
  readonly keyRemaining: Nanos | undefined
}

/** The record of one request, for people. */
export interface UsageRow extends Omit<Closing, 'price' | 'answer'> {
  readonly cost: Nanos
  readonly held: Nanos
}

/** A record that is about to be written. */
export interface NewRecord {
  readonly closing: Omit<Closing, 'price'>
  readonly cost: Nanos
  readonly held: Nanos
  /** The number of the entry that charged it; undefined where nothing was charged. */
  readonly entrySeq: number | undefined
}

/** Money from outside: a top-up, or the correction of a mistake. */
export interface Deposit {
  readonly kind: 'topup' | 'adjustment'
  readonly accountId: string
  readonly amount: Nanos
  /** The same source again is applied once. */
  readonly source: string
  readonly note: string | undefined
  readonly at: number
}

export type EntryKind = Deposit['kind'] | 'charge'

/** What a charge was computed from. */
export interface ChargeInputs {
  readonly usage: Pick<Usage, 'input' | 'cacheRead' | 'cacheWrite' | 'output'>
  readonly price: Price & { readonly id: number }
}

/** One change of a balance. Entries are only ever added. */
export interface Entry {
  readonly accountId: string
  /** Counted for each account from 1, without gaps. */
  readonly seq: number
  readonly kind: EntryKind
  readonly amount: Nanos
  /** After this entry. */
  readonly balance: Nanos
  readonly source: string
  readonly keyId: string | undefined
  readonly note: string | undefined
  readonly at: number
  /** Undefined for deposits. */
  readonly inputs: ChargeInputs | undefined
  /** Over this entry and the hash of the one before: a changed row breaks the chain. */
  readonly hash: string
}

export type DepositOutcome =
  /** `applied` is false if this source was applied before. */
  | { readonly type: 'deposited'; readonly applied: boolean; readonly entry: Entry }
  | { readonly type: 'no-account' }
  | { readonly type: 'balance-too-large' }

export type LedgerOperation =
  | { readonly type: 'hold'; readonly request: HoldRequest; readonly lease: Lease }
  | { readonly type: 'extend'; readonly extension: Extension; readonly expiresAt: number }
  | { readonly type: 'settle'; readonly closing: Closing }
  | { readonly type: 'refuse'; readonly refusal: Refusal }
  | { readonly type: 'deposit'; readonly deposit: Deposit }
  /** The owner lives: its holds stay. */
  | { readonly type: 'renew'; readonly lease: Lease }
  /** What nobody will settle any more is recorded as interrupted and released. */
  | { readonly type: 'recover'; readonly survivors: Survivors; readonly at: number }

export type LedgerOutcome =
  | HoldOutcome
  | { readonly type: 'settled'; readonly settled: Settled }
  | { readonly type: 'recorded' }
  | DepositOutcome
  | { readonly type: 'renewed' }
  | { readonly type: 'released'; readonly holds: number }

export interface LedgerStore {
  /** Applies a batch in its order, as one transaction; resolves when it is durable. A recovery comes by itself. */
  commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]>
}

export interface ModelPrice {
  readonly model: string
  readonly price: Price
}

export interface PriceList {
  /** Makes a new version of every price that changed; returns the version in force for each model. */
  publish(prices: readonly ModelPrice[], now: number): Promise<ReadonlyMap<string, PriceVersion>>
  /** All versions of a model's price, newest first, up to a limit. */
  history(model: string, limit: number): Promise<readonly PriceVersion[]>
}
