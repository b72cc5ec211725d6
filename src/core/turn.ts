import type { Usage } from './usage.ts'

/**
 * The private vocabulary between the two dialects. A field is here only if both dialects have it or the bill needs
 * it; what one dialect has alone survives by passthrough, or is named in `dropped`.
 */
export interface Turn {
  readonly system: readonly string[]
  readonly messages: readonly TurnMessage[]
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice | undefined
  readonly parallelTools: boolean
  readonly output: OutputFormat
  readonly effort: Effort | undefined
  readonly maxTokens: number | undefined
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly stop: readonly string[]
  readonly user: string | undefined
  readonly stream: boolean
  /** Names of what this request carried and the vocabulary cannot. */
  readonly dropped: readonly string[]
}

export type TurnMessage =
  | { readonly role: 'user'; readonly parts: readonly UserPart[] }
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }
  | { readonly role: 'system'; readonly text: string }

export type UserPart = TextPart | ImagePart | ToolResult
export type AssistantPart = TextPart | ToolCall

export interface TextPart {
  readonly type: 'text'
  readonly text: string
}

/** Reaches the vocabulary only on models whose images are forwarded; elsewhere it was dropped or refused before. */
export interface ImagePart {
  readonly type: 'image'
  readonly url: string
}

export interface ToolCall {
  readonly type: 'tool-call'
  readonly id: string
  readonly name: string
  /** JSON text, never a parsed value: big numbers and the order of keys must survive. */
  readonly arguments: string
}

export interface ToolResult {
  readonly type: 'tool-result'
  readonly id: string
  readonly text: string
  readonly isError: boolean
}

export interface Tool {
  readonly name: string
  readonly description: string | undefined
  readonly schema: Readonly<Record<string, unknown>>
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string }

export type OutputFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | { readonly type: 'schema'; readonly name: string; readonly schema: Readonly<Record<string, unknown>> }

export type Effort = 'none' | 'low' | 'medium' | 'high'

export type FinishReason = 'stop' | 'stop-sequence' | 'length' | 'tool-calls' | 'refusal'

/**
 * An answer as it comes, streamed or whole (a whole answer is a folded stream, so the two cannot disagree):
 *
 *   answer = start (open delta* close)* finish
 *
 * Blocks never overlap; there is exactly one finish; a stream that breaks throws instead.
 */
export type TurnEvent =
  | { readonly type: 'start'; readonly usage: Usage | undefined }
  | { readonly type: 'open'; readonly block: Block }
  | { readonly type: 'delta'; readonly text: string }
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
