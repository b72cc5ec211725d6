import type { Source, TextSize } from './source.ts'

export type { TextSize }

/** The two dialects, as operators and records name them. */
export type ProtocolName = 'chat' | 'messages'

/** A JSON object as it came in: validated where the contract says so, free-form everywhere else. */
export type JsonObject = { readonly [key: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A place in a request where an image stands, and how much of the body it takes. */
export interface ImagePlace {
  readonly param: string
  readonly message: number
  /** The part's place in the message, then (inside a tool result) its place in there. */
  readonly part: readonly number[]
  readonly characters: number
}

/** A validated request, still in its own dialect: what every step needs to know without looking into the body again. */
export interface Ask {
  readonly protocol: ProtocolName
  readonly body: JsonObject
  /** The body as it came: like pairs forward it, and tool arguments are copied from it digit by digit. */
  readonly source: Source
  readonly model: string
  readonly stream: boolean
  readonly includeUsage: boolean
  /** Thinking blocks are shown on messages only to those who asked; chat always has `reasoning_content`. */
  readonly showThinking: boolean
  readonly maxTokens: number | undefined
  /** How many answers are asked for, each of them up to the limit. */
  readonly choices: number
  /** Of all that the model reads, images included. */
  readonly promptSize: TextSize
  readonly images: readonly ImagePlace[]
  /** Names of tools that take plain text where others take JSON. */
  readonly textTools: ReadonlySet<string>
  /** The answer must parse, whatever the upstream makes of it. */
  readonly wantsJson: boolean
  /** Calls are asked for, and answered, in the form that came before `tools`. */
  readonly legacyCalls: boolean
  /** Images were taken out before anything else looked at the request. */
  readonly droppedImages?: boolean
}
