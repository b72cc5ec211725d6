import type { JsonObject, ProtocolName } from './ask.ts'
import type { Failure } from './failure.ts'

/** One tiny call to a channel, as callers of one protocol would make it. */
export interface Probe {
  readonly client: ProtocolName
  readonly upstream: ProtocolName
  readonly model: string
  /** Of the key that was used; undefined for an upstream without keys. */
  readonly keyId: string | undefined
  readonly durationMs: number
  /** What the upstream was sent, translated; credentials travel in headers and are not in it. */
  readonly request: JsonObject
  readonly answer: string | undefined
  readonly failure: Failure | undefined
}
