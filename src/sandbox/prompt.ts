import type { Schema } from './schema/schema.ts'

/** What the sandbox needs to know of a request, whichever protocol brought it. */
export interface Prompt {
  readonly model: string
  readonly system: string
  /** The text of the last user message that has any. */
  readonly question: string
  /** What the conversation ends with: only a question may lead to a tool call that nobody demanded. */
  readonly ending: 'question' | 'results' | 'other'
  /** The tool results that the conversation ends with. */
  readonly results: readonly ToolResult[]
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice
  readonly parallelCalls: boolean
  readonly format: Format
  /** Infinity when the request sets no cap. */
  readonly maxTokens: number
  readonly stopSequences: readonly string[]
  readonly mayThink: boolean
  readonly stream: boolean
  /** Whether a stream reports usage; chat clients have to ask for it. */
  readonly streamUsage: boolean
  /** Every text that is counted as input. */
  readonly inputTexts: readonly string[]
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly schema: Schema
}

export interface ToolResult {
  readonly name: string
  readonly text: string
}

export type ToolChoice =
  | { readonly type: 'auto' }
  | { readonly type: 'none' }
  | { readonly type: 'any' }
  | { readonly type: 'tool'; readonly name: string }

export type Format = { readonly type: 'text' } | { readonly type: 'json'; readonly schema?: Schema | undefined }

/** What the messages of a request say, once they are found to be in order. */
export interface Conversation {
  readonly system: string
  readonly question: string
  readonly ending: Prompt['ending']
  readonly results: readonly ToolResult[]
  readonly texts: readonly string[]
}

/** Some clients can ask for JSON only in words. */
export function asksForJson(system: string): boolean {
  return /\bjson object\b/i.test(system)
}
