import type { ProtocolName } from './ask.ts'
import type { Price } from './price.ts'

/** What becomes of images that callers send: dropped before upstream, refused, or passed on. */
export type ImagePolicy = 'ignore' | 'reject' | 'forward'

export interface Model {
  /** Always `<vendor>/<model>`. */
  readonly id: string
  readonly name: string
  readonly description: string
  /** Undefined where nobody has said what it costs: such a model is listed, and refused. */
  readonly price: Price | undefined
  readonly contextLength: number
  readonly maxOutputTokens: number
  readonly images: ImagePolicy
  readonly recommended: boolean
  readonly reasoning: boolean
}

/** One upstream. Two vendors that speak one dialect differ only in such a row. */
export interface Channel {
  readonly name: string
  readonly protocol: ProtocolName
  readonly baseUrl: string
  readonly apiKeys: readonly string[]
  /** Catalog id to the name this upstream knows. */
  readonly models: ReadonlyMap<string, string>
  /** Lower first. */
  readonly priority: number
  /** Share among channels of equal priority. */
  readonly weight: number
  readonly groups: readonly string[]
  readonly timeouts: ChannelTimeouts
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
  /** Fields that callers may not pass on, because they would choose another model than the one that is billed. */
  readonly withheld: readonly string[]
  /** Added to every answer from this upstream, e.g. to mark what a sandbox made up. */
  readonly replyHeaders: Readonly<Record<string, string>>
}

export interface ChannelTimeouts {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
}
