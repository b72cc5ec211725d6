import type { ProtocolName } from './ask.ts'
import type { Capabilities } from './capabilities.ts'
import type { Price } from './price.ts'

/** What becomes of images that callers send: dropped before upstream, refused, or passed on. */
export type ImagePolicy = 'ignore' | 'reject' | 'forward'

/** Who defines a model or a channel. What a file or a variable defines is changed there. */
export type Origin = 'file' | 'environment' | 'builtin' | 'sandbox' | 'console'

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
  readonly origin: Origin
  /** False for one that was switched off in the console: it is neither listed nor served. */
  readonly enabled: boolean
  /** Two define it, and one of them wins: the console over what is built in, a file over the console. */
  readonly hides: 'builtin' | 'console' | undefined
}

/** One upstream. Two vendors that speak one dialect differ only in such a row. */
export interface Channel {
  readonly name: string
  readonly protocol: ProtocolName
  readonly baseUrl: string
  readonly origin: Origin
  /** The preset it was made with. */
  readonly vendor: string | undefined
  /** A channel of the console has the same name, and does not serve because of it. */
  readonly hidesConsole: boolean
  readonly isPaused: boolean
  /** All its credentials; none where its upstream wants none. */
  readonly keys: readonly VendorKey[]
  /** Those that calls are made with. */
  readonly usableKeys: readonly UsableKey[]
  /** By catalog id. */
  readonly models: ReadonlyMap<string, ServedModel>
  /** Lower first. */
  readonly priority: number
  /** Share among channels of equal priority. */
  readonly weight: number
  readonly groups: readonly string[]
  readonly timeouts: ChannelTimeouts
  /** Undefined for one that is always asked, however often it fails. */
  readonly breaker: BreakerSettings | undefined
  /** Fields that callers may not pass on, because they would choose another model than the one that is billed. */
  readonly withheld: readonly string[]
  /** Added to every answer from this upstream, e.g. to mark what a sandbox made up. */
  readonly replyHeaders: Readonly<Record<string, string>>
}

export interface VendorKey {
  /** The same wherever the key is used, and of no use to whoever sees it. */
  readonly id: string
  /** Enough to recognise it. */
  readonly hint: string
  /** Undefined for one that was sealed with another secret. */
  readonly secret: string | undefined
  readonly isPaused: boolean
}

export interface UsableKey {
  readonly id: string
  readonly secret: string
}

/** A channel that is paused, or none of whose keys may be used, is configured and not chosen. */
export const isUsable = ({ isPaused, keys, usableKeys }: Channel): boolean =>
  !isPaused && (keys.length === 0 || usableKeys.length > 0)

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
  /** Of one call, from its beginning to its last byte. */
  readonly totalMs: number
}

/** When a channel, or a key of it, is left alone for a while. */
export interface BreakerSettings {
  /** So many failures in a row. */
  readonly failures: number
  /** Doubled with each try that fails. */
  readonly coolDownMs: number
  readonly coolDownMsMax: number
}
