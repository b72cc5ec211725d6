import type { LastMinute, Others } from './last-minute.ts'

/** What is done with one key that has limits. */
export interface KeyState {
  /** Requests of this replica that are under way. */
  underWay: number
  /** Of this replica, all there ever were: it tells whether there was another one. */
  entered: number
  readonly lastMinute: LastMinute
  others: OtherUses
  /** What the others know of this replica. */
  told?: { readonly underWay: number; readonly entered: number; readonly at: number } | undefined
  /** When somebody last wanted to know what the others do. */
  askedAt?: number
}

/** What other replicas have said of the same key. */
export interface OtherUses {
  readonly underWay: number
  readonly recent: readonly Others[]
  readonly heardAt: number
}

export const NOBODY: OtherUses = { underWay: 0, recent: [], heardAt: Number.NEGATIVE_INFINITY }
