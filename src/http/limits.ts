import type { BodyLimits } from './body.ts'

/** How long whoever is at the other end of a connection may take, and for how much. Tests shorten them. */
export interface EdgeLimits {
  readonly idleSeconds: number
  readonly body: BodyLimits
}

export const EDGE_LIMITS: EdgeLimits = {
  /**
   * Above what load balancers keep a connection for, and below the 255 that the runtime can count to. A stream is never
   * silent that long, so a client that takes nothing of its answer for all of it has left.
   */
  idleSeconds: 240,
  /** Agents send long conversations; nobody sends more than this in earnest. */
  body: { bytesMax: 32 * 1024 * 1024, secondsMax: 60 },
}
