import type { Effort } from './effort.ts'
import type { Usage } from './usage.ts'

/**
 * The private vocabulary between the two dialects. A field is here only if both dialects have it or the bill needs
 * it; what one dialect has alone survives by passthrough, or is named in `dropped`.
 */
export interface Turn {
  readonly system: readonly TextPart[]
  readonly messages: readonly TurnMessage[]
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice | undefined
  readonly parallelTools: boolean
  readonly output: OutputFormat
  readonly effort: Effort | undefined
  /** Where the caller said so, should it have to be dropped. */
  readonly effortField: string
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly topK: number | undefined
  readonly stop: readonly string[]
  readonly user: string | undefined
  readonly serviceTier: 'auto' | 'standard' | undefined
  readonly stream: boolean
  /** Names of what this request carried and the vocabulary cannot. */
  readonly dropped: readonly string[]
}

export type TurnMessage =
  | { readonly role: 'user'; readonly parts: readonly UserPart[] }
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }
  | { readonly role: 'system'; readonly text: string }

export type UserPart = ContentPart | ToolResult
export type AssistantPart = TextPart | Thinking | ToolCall
export type ContentPart = TextPart | ImagePart | DocumentPart

/** Where the caller wants the prompt cache to end, in the caller's own words. */
export type CacheMark = Readonly<Record<string, unknown>>

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly cache?: CacheMark | undefined
}

/** Reaches the vocabulary only on models whose images are forwarded; elsewhere it was dropped or refused before. */
export interface ImagePart {
  readonly type: 'image'
  readonly url: string
  readonly cache?: CacheMark | undefined
}

/** A file that is no plain text. */
export interface DocumentPart {
  readonly type: 'document'
  readonly name: string | undefined
  /** A `data:` URL or an address; undefined where the file is kept by another vendor. */
  readonly url: string | undefined
  /** Its place in the request, for refusals. */
  readonly param: string
  readonly cache?: CacheMark | undefined
}

/** What a model thought in an earlier turn. Only its own vendor can make the signature, or read what is sealed. */
export interface Thinking {
  readonly type: 'thinking'
  readonly text: string
  readonly signature?: string | undefined
  readonly sealed?: string | undefined
}

export interface ToolCall {
  readonly type: 'tool-call'
  readonly id: string
  readonly name: string
  /** JSON text, never a parsed value: big numbers and the order of keys must survive. */
  readonly arguments: string
  readonly cache?: CacheMark | undefined
}

export interface ToolResult {
  readonly type: 'tool-result'
  readonly id: string
  readonly parts: readonly ContentPart[]
  readonly isError: boolean
  readonly cache?: CacheMark | undefined
}

export interface Tool {
  readonly name: string
  readonly description: string | undefined
  readonly schema: Schema
  readonly strict: boolean
  readonly cache?: CacheMark | undefined
}

/** A JSON schema, and its text as the caller wrote it. */
export interface Schema {
  readonly value: Readonly<Record<string, unknown>>
  readonly text: string
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string }

export type OutputFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | { readonly type: 'schema'; readonly name: string; readonly schema: Schema }

export type FinishReason = 'stop' | 'stop-sequence' | 'length' | 'tool-calls' | 'refusal'

/**
 * An answer as it comes, streamed or whole (a whole answer is a folded stream, so the two cannot disagree):
 *
 *   answer = start (open delta* close)* finish
 *
 * Blocks never overlap; there is exactly one finish; a stream that breaks throws instead. One exception, for a caller
 * whose dialect has it too: a call may begin before the one in front of it has its last fragment. There is one close
 * for all of them then, and a delta for an earlier one says so.
 */
export type TurnEvent =
  | { readonly type: 'start'; readonly usage: Usage | undefined }
  | { readonly type: 'open'; readonly block: Block }
  | { readonly type: 'delta'; readonly text: string; readonly call?: number }
  | { readonly type: 'close' }
  | Finish

export type Block =
  | { readonly type: 'text' }
  | { readonly type: 'thinking' }
  | { readonly type: 'tool-call'; readonly id: string; readonly name: string }

export interface Finish {
  readonly type: 'finish'
  readonly reason: FinishReason
  readonly stopSequence: string | undefined
  /** Undefined where the upstream gave none; the meter counts then. */
  readonly usage: Usage | undefined
}
