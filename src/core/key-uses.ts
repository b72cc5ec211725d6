/** What is done with a key that has limits, on one replica. */
export interface KeyUse {
  readonly keyId: string
  /** Requests under way. */
  readonly underWay: number
  /** Requests of the last minute. */
  readonly recent: readonly Recent[]
}

/** Requests that came close together. */
export interface Recent {
  /** How long ago the last of them came. */
  readonly ageMs: number
  readonly count: number
}

/** What there is to hear. */
export interface Heard {
  /** Of each key and each other replica that has said something of it. */
  readonly others: readonly KeyUse[]
  /** Keys of which this replica's own words were still there. A database that has crashed may have lost them. */
  readonly remembered: ReadonlySet<string>
}

/** How replicas tell each other what is done with keys: a limit of a key is one for all of them together. */
export interface KeyUses {
  /**
   * Says what has changed here since it was last said, and returns what was said about these keys before. Of a replica that
   * has not been heard of for long, nothing is under way any more.
   */
  exchange(changed: readonly KeyUse[], keyIds: readonly string[]): Promise<Heard>
}

/** A replica that has something under way says so at least this often, and is believed for the other time. */
export const SAID_AGAIN_MS = 3_000
export const BELIEVED_MS = 10_000
