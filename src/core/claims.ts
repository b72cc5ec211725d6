import type { AnswerName } from './repeats.ts'

/** A call that is to be made under a name. */
export interface NewClaim extends AnswerName {
  readonly fingerprint: string
  readonly requestId: string
}

export type Claimed =
  /** The call is this replica's to make. */
  | { readonly type: 'ours' }
  /** It was made, and its answer is stored. */
  | { readonly type: 'answered' }
  /** Another replica makes it, for a request with this fingerprint. */
  | { readonly type: 'elsewhere'; readonly fingerprint: string }

/**
 * Which replica makes the call that a name (`idempotency-key`) stands for. A claim lasts until the call is over, and its
 * answer stored; one whose replica has died is free as soon as nothing is held for its call any more.
 */
export interface Claims {
  claim(claim: NewClaim, now: number): Promise<Claimed>
  release(claim: Pick<NewClaim, 'keyId' | 'nameHash' | 'requestId'>): Promise<void>
  /** Frees what was not released: of this replica all but these requests, of dead ones all. */
  tidy(underWay: ReadonlySet<string>): Promise<void>
}
