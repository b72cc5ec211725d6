import type { TokensView } from '../../../src/admin/contract.ts'

export type ProtocolName = 'chat' | 'messages'

export type Json = Readonly<Record<string, unknown>>

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON, as the model wrote it: it may be cut or wrong. */
  readonly input: string
}

/** What a model said, whichever protocol it came by. */
export interface Answer {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly ToolCall[]
  /** In the protocol's own words: `stop`, `end_turn`, `length`. */
  readonly ending: string | null
  readonly tokens: TokensView | null
  readonly cost: string | null
  /** Thoughts as they must be given back, sealed by the one who thought them. Messages only. */
  readonly thoughts: readonly Json[]
  readonly error: Fault | null
}

/** A refusal, or an error in the middle of a stream, in the gateway's own words. */
export interface Fault {
  /** 0 where no answer came at all. */
  readonly status: number
  readonly code: string
  readonly type: string
  readonly message: string
  readonly param: string | null
  readonly hint: string | null
  readonly retryAfter: string | null
}

export const NOTHING_SAID: Answer = {
  text: '',
  reasoning: '',
  calls: [],
  ending: null,
  tokens: null,
  cost: null,
  thoughts: [],
  error: null,
}

/** Takes one protocol's frames, or its whole body, and says what the answer is by now. */
export interface AnswerReader {
  frame(data: string): void
  body(data: Json): void
  readonly answer: Answer
}

// ── reading what may be anything ────────────────────────────────────────────────────────────────────────────────────

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const object = (value: unknown): Json => (isObject(value) ? value : {})
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
export const textOrNull = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
export const count = (value: unknown): number => (typeof value === 'number' && value >= 0 ? value : 0)

export function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

export function faultOf(error: Json, status: number, retryAfter: string | null = null): Fault {
  return {
    status,
    code: text(error.code),
    type: text(error.type),
    message: text(error.message),
    param: textOrNull(error.param),
    hint: textOrNull(error.hint),
    retryAfter,
  }
}
