import type { ProtocolName } from './ask.ts'

/** One try of one upstream for a request, as its record keeps it. */
export interface Attempt {
  readonly channel: string
  /** The vendor key it was made with; undefined where the upstream wants none. */
  readonly keyId: string | undefined
  readonly protocol: ProtocolName
  /** `ok`, or the code of the failure. */
  readonly status: string
  /** Why it failed, in a sentence; undefined for the one that answered. */
  readonly error: string | undefined
  /** Since the request came. */
  readonly startMs: number
  /** Since this attempt began; undefined where nothing came. */
  readonly firstByteMs: number | undefined
  readonly durationMs: number
}
