import type { LedgerOperation, LedgerOutcome } from '../core/ledger.ts'

/** What has waited for long must not be one transaction that takes seconds. */
export const BATCH_OPERATIONS_MAX = 1_000

/** An operation, and whoever waits for what becomes of it. */
export interface Waiting {
  readonly operation: LedgerOperation
  readonly resolve: (outcome: LedgerOutcome) => void
  readonly reject: (reason: unknown) => void
  /** A store that is away, or busy, is waited for. */
  readonly isPatient: boolean
  /** Since when it is put off; undefined for nearly all. */
  lateSince: number | undefined
}
