import { isObject, type JsonObject } from '../core/ask.ts'
import { asGatewayError, GatewayError } from '../core/failure.ts'
import { scrub } from '../core/scrub.ts'
import type { FinishReason, TurnEvent } from '../core/turn.ts'
import type { Usage } from '../core/usage.ts'
import { blamedBy } from './blame.ts'
import { newCallId } from './names.ts'

/** Blocks and calls of one answer: far more than any model writes, few enough to go through again and again. */
export const PARTS_MAX = 4_096

/** A call, and nothing else, makes it a `tool-calls` ending, whatever the vendor says; cut and refused answers are that. */
export function honestReason(reason: FinishReason, hasCalls: boolean): FinishReason {
  if (reason !== 'stop' && reason !== 'tool-calls') return reason
  return hasCalls ? 'tool-calls' : 'stop'
}

/** Writes `start (open delta* close)* finish`: whoever decodes an answer cannot get the grammar wrong. */
export class AnswerWriter {
  private events: TurnEvent[] = []
  private open: 'text' | 'thinking' | 'tool-call' | undefined
  private toolCalls = 0
  private readonly ids = new Set<string>()
  private started = false
  /** First halves of characters, by the call they belong to. */
  private readonly halves = new Map<number, string>()

  start(usage: Usage | undefined): void {
    if (this.started) return
    this.started = true
    this.events.push({ type: 'start', usage })
  }

  say({ type, text }: Piece): void {
    if (text === '') return
    if (this.open !== type) {
      this.close()
      this.open = type
      this.events.push({ type: 'open', block: { type } })
    }
    this.delta(text)
  }

  call(id: string, name: string): void {
    this.close()
    this.callBeside(id, name)
  }

  /** A call that begins while another is under way. */
  callBeside(id: string, name: string): void {
    this.toolCalls++
    this.open = 'tool-call'
    // Two calls under one id could not both be answered.
    const unique = id === '' || this.ids.has(id) ? newCallId() : id
    this.ids.add(unique)
    this.events.push({ type: 'open', block: { type: 'tool-call', id: unique, name: name || 'unknown' } })
  }

  /** To the block that was opened last. */
  delta(text: string): void {
    this.fragment(text, this.toolCalls - 1)
  }

  /**
   * To a call that may not be the one that began last; `call` counts them from 0. A character may be cut in two by the
   * vendor: its first half waits, for no half of it can be written alone.
   */
  fragment(text: string, call: number): void {
    const whole = this.takeHalf(call) + text
    const isCut = endsInHalf(whole)
    if (isCut) this.halves.set(call, whole.slice(-1))
    this.write(isCut ? whole.slice(0, -1) : whole, call)
  }

  private takeHalf(call: number): string {
    const half = this.halves.size === 0 ? undefined : this.halves.get(call)
    if (half !== undefined) this.halves.delete(call)
    return half ?? ''
  }

  close(): void {
    for (const [call, half] of this.halves) this.write(half, call)
    this.halves.clear()
    if (this.open) this.events.push({ type: 'close' })
    this.open = undefined
  }

  private write(text: string, call: number): void {
    if (text === '') return
    const isLatest = call === this.toolCalls - 1
    this.events.push(isLatest ? { type: 'delta', text } : { type: 'delta', text, call })
  }

  finish(reason: FinishReason, usage: Usage | undefined, stopSequence?: string): void {
    this.close()
    this.events.push({ type: 'finish', reason: this.honest(reason, stopSequence), stopSequence, usage })
  }

  private honest(reason: FinishReason, stopSequence: string | undefined): FinishReason {
    const honest = honestReason(reason, this.toolCalls > 0)
    return honest === 'stop' && stopSequence !== undefined ? 'stop-sequence' : honest
  }

  drain(): readonly TurnEvent[] {
    const drained = this.events
    this.events = []
    return drained
  }
}

/** The last unit is the first half of a character of two. */
export function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}

/** An upstream's body or frame: an object, and not the report of an error. */
export function parseAnswer(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw malformed(cause)
  }
  if (!isObject(value)) throw malformed()
  if (value.error !== undefined && value.error !== null) throw reportedError(value.error)
  return value
}

export const malformed = (cause?: unknown): GatewayError =>
  new GatewayError({ kind: 'upstream-error', problem: 'The upstream sent a malformed answer' }, cause)

/** A stack that ran out while an answer was read: nested deeper than anything sensible. */
export const asAnswerFailure = (error: unknown): GatewayError =>
  error instanceof RangeError ? malformed(error) : asGatewayError(error)

/** A stream that stops without its ending is a failure, never a short answer. */
export const truncated = (): GatewayError =>
  new GatewayError({ kind: 'upstream-error', problem: 'The upstream stream ended before completion' })

export function reportedError(error: unknown): GatewayError {
  const message = isObject(error) ? error.message : error
  const said = typeof message === 'string' && message !== '' ? `: ${scrub(message)}` : ''
  const problem = `The upstream reported an error${said}`
  return new GatewayError({ kind: 'upstream-error', problem, blames: blamedBy(error) })
}

/** Anything a vendor may put where a text belongs: a string, or parts with texts. */
export function flatText(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? piecesOf(content).reduce((text, piece) => text + piece.text, '') : ''
}

export interface Piece {
  readonly type: 'text' | 'thinking'
  readonly text: string
}

/** The same with thoughts told apart: some vendors put them among the parts of the content. */
export function piecesOf(content: unknown): Piece[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.filter(isObject).map(part => {
    if (part.type === 'thinking') return { type: 'thinking', text: flatText(part.thinking) }
    return { type: 'text', text: typeof part.text === 'string' ? part.text : '' }
  })
}
