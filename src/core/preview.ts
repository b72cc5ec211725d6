import type { JsonObject, ProtocolName } from './ask.ts'

/** What an upstream would be sent for a request. */
export interface Preview {
  readonly channel: string
  readonly upstream: ProtocolName
  /** The caller's own text with named edits, not a translation. */
  readonly isPassedOn: boolean
  readonly request: JsonObject
  readonly dropped: readonly string[]
}

export interface PreviewRequest {
  readonly protocol: ProtocolName
  readonly body: JsonObject
  /** Undefined for one that would be chosen. */
  readonly channel: string | undefined
}
