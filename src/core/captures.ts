import type { Sealer } from './seal.ts'

/** What was asked and answered, of keys whose operator wants it kept: sealed, and for a time. */

export interface Exchange {
  /** The body as it was received, up to a limit. */
  readonly request: string
  /** The body or the frames as they were sent, up to a limit. */
  readonly response: string
}

export interface Capture {
  readonly requestId: string
  readonly keyId: string
  /** As `sealExchange` made it. */
  readonly sealed: string
  /** A limit was reached, and the rest is not there. */
  readonly isCut: boolean
  readonly createdAt: number
}

export interface StoredCapture extends Capture {
  readonly expiresAt: number
}

export interface Shortening {
  readonly keyId: string
  /** Undefined for nothing at all. */
  readonly keepDays: number | undefined
  readonly now: number
}

export interface Captures {
  /** For as long as the key says now: nothing is kept for one that was told to keep nothing in the meantime. */
  keep(capture: Capture): Promise<void>
  /** Undefined where nothing was kept, or its time is over. */
  find(requestId: string, now: number): Promise<StoredCapture | undefined>
  /** The time of a key was changed: what was kept longer than that goes, and the rest of it sooner. */
  shorten(shortening: Shortening): Promise<void>
  /** Forgets what has expired; returns how many there were. */
  purge(now: number): Promise<number>
}

export const sealExchange = (exchange: Exchange, sealer: Sealer): string => sealer.seal(JSON.stringify(exchange))

/** Throws for what was sealed with another secret. */
export const openExchange = (sealed: string, sealer: Sealer): Exchange => JSON.parse(sealer.open(sealed)) as Exchange
