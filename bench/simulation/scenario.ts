import { LEASE_MS, TEND_MS } from '../../src/core/leases.ts'
import type { Spread } from './chance.ts'

/** Microseconds of one core, or of waiting. */
export interface Costs {
  /** Over the network and back, with the waking up at both ends. */
  readonly roundTrip: number
  readonly databasePerBatch: number
  /** For a batch, too, but nobody waits for it. */
  readonly databaseBeside: number
  readonly databasePerOperation: number
  /** For each account that a batch touches. */
  readonly databasePerAccount: number
  /** All that a replica asks in a second whether there are requests or not. */
  readonly databasePerPoll: number
  readonly replicaPerBatch: number
  readonly replicaPerOperation: number
  /** Until the log is on the disk. */
  readonly flush: number
}

/** Requests that come whether others were answered or not, or callers who ask again as soon as they have an answer. */
export type Load = { readonly perSecond: number } | { readonly callersPerReplica: number }

export interface Scenario {
  readonly costs: Costs
  readonly replicas: number
  /** Batches that a replica has under way at once, each of other accounts; the ledger has one. */
  readonly lanes: number
  /** Whoever balances the load sends the requests of an account to the same replica. */
  readonly isSticky: boolean
  readonly databaseCores: number
  /** Replicas have no core of their own, but share those of the database. */
  readonly isOneMachine: boolean
  readonly load: Load
  readonly spread: Spread
  readonly accounts: number
  /** What a replica does for a request besides its ledger. */
  readonly gatewayWork: number
  /** What the upstream takes on average, between hold and settlement; many take less, some much more. */
  readonly upstream: number
  readonly seconds: number
  /** Goes on after that until nothing is under way any more: only then do the books balance. */
  readonly isDrained: boolean
  /** Not looked at: the beginning, when nobody waits yet. */
  readonly warmUpSeconds: number
  /** Of each account, in the smallest unit; a request holds `HELD` of it and uses less. */
  readonly balance: number
  /** Which replica is killed when. */
  readonly deaths: readonly { readonly replica: number; readonly atSeconds: number }[]
  readonly seed: number
}

export const HELD = 1_000
export const LEASE_MICROSECONDS = LEASE_MS * 1_000
export const TEND_MICROSECONDS = TEND_MS * 1_000
/** As in `src/ledger/ledger.ts`. */
export const BATCH_OPERATIONS_MAX = 1_000
export const POLL_MICROSECONDS = 1_000_000
