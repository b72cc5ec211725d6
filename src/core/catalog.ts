import type { ProtocolName } from './ask.ts'
import type { Capabilities } from './capabilities.ts'
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
  /** Undefined where nobody said: ignored, unless an upstream is known to see. */
  readonly images: ImagePolicy | undefined
  readonly recommended: boolean
  readonly reasoning: boolean
}

/** One upstream. Two vendors that speak one dialect differ only in such a row. */
export interface Channel {
  readonly name: string
  readonly protocol: ProtocolName
  readonly baseUrl: string
  readonly apiKeys: readonly string[]
  /** By catalog id. */
  readonly models: ReadonlyMap<string, ServedModel>
  /** Lower first. */
  readonly priority: number
  /** Share among channels of equal priority. */
  readonly weight: number
  readonly groups: readonly string[]
  readonly timeouts: ChannelTimeouts
  /** Fields that callers may not pass on, because they would choose another model than the one that is billed. */
  readonly withheld: readonly string[]
  /** Added to every answer from this upstream, e.g. to mark what a sandbox made up. */
  readonly replyHeaders: Readonly<Record<string, string>>
}

/** A model as one upstream has it. */
export interface ServedModel {
  /** The name this upstream knows it by. */
  readonly name: string
  readonly capabilities: Capabilities
}

/** What the operator says of a model holds; a model of which nothing is said sees what its upstream can see. */
export function imagePolicy({ images }: Model, { vision }: Capabilities): ImagePolicy {
  if (images === 'forward' && vision === false) return 'ignore'
  return images ?? (vision ? 'forward' : 'ignore')
}

export interface ChannelTimeouts {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
}
