import { isObject, type JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import type { TurnEvent } from '../../core/turn.ts'
import type { Usage } from '../../core/usage.ts'
import { type SoleText, soleDelta } from '../alike.ts'
import { AnswerWriter, type Piece, piecesOf, truncated } from '../answer.ts'
import type { StreamDecoder } from '../protocol.ts'
import type { Frame } from '../sse.ts'
import { parseWithText } from './arguments.ts'
import { CallList, type StreamedCall } from './call-list.ts'
import { isSpeaking, soleText } from './each.ts'
import { EndNote } from './end-note.ts'
import { reasoningText } from './texts.ts'
import { isDone, readFinishReason, readUsage } from './wire.ts'

/** The vocabulary holds one answer; others are not asked for where dialects are crossed. */
function firstChoice({ choices }: JsonObject): JsonObject | undefined {
  return Array.isArray(choices) ? choices.find(choice => isObject(choice) && (choice.index ?? 0) === 0) : undefined
}

/** A call begins with its name and its id; one that is complete without an id will not get one any more. */
const isReady = ({ id, name, progress }: StreamedCall): boolean => name !== '' && (id !== '' || progress.complete)

/**
 * Finish reason and usage are notes, not ends: they ride on content, come early, or repeat. The end is `[DONE]`, or the
 * end of the stream once a reason was given. Only one block is open at a time: fragments of another call, and text that
 * comes while a call's JSON is incomplete, wait their turn.
 */
class ChatStreamDecoder implements StreamDecoder {
  readonly seen = new Seen()
  done = false
  private readonly answer = new AnswerWriter()
  private readonly list = new CallList()
  /** What a call's arguments have gained since they were written last. */
  private readonly waiting = new Map<StreamedCall, string>()
  private readonly held: Piece[] = []
  private active: StreamedCall | undefined
  private opened = 0
  private begun = false
  private readonly note = new EndNote()
  private refused = false
  private stopSequence: string | undefined
  usage: Usage | undefined
  isReported = false
  soleText: SoleText | undefined
  /** Nothing has come since the upstream counted. */
  private isCurrent = false

  get isComplete(): boolean {
    return this.note.isComplete
  }

  push(frame: Frame): readonly TurnEvent[] {
    this.soleText = undefined
    if (isDone(frame)) {
      if (!this.begun) throw truncated()
      return this.finish()
    }
    const chunk = parseWithText(frame.data)
    const counted = readUsage(chunk.usage)
    this.usage = counted ?? this.usage
    const choice = firstChoice(chunk)
    if (choice) this.choice(choice)
    this.isCurrent ||= counted !== undefined
    this.isReported ||= this.isComplete && counted !== undefined
    const events = this.answer.drain()
    const written = soleDelta(events)
    if (written !== undefined) this.soleText = soleText(chunk, written)
    return events
  }

  end(): readonly TurnEvent[] {
    if (this.done) return []
    if (this.note.reason === undefined) throw truncated()
    return this.finish()
  }

  cut(): readonly TurnEvent[] {
    this.answer.start(this.usage)
    // Nobody could answer a call without a name.
    this.writeRest(({ name }) => name !== '')
    this.answer.finish('length', undefined)
    return this.answer.drain()
  }

  private choice(choice: JsonObject): void {
    this.begun = true
    this.answer.start(this.usage)
    if (isObject(choice.delta)) this.delta(choice.delta)
    const speaks = isSpeaking(choice.delta)
    this.note.take(readFinishReason(choice.finish_reason), speaks)
    if (speaks) this.isCurrent = false
    if (typeof choice.stop_reason === 'string') this.stopSequence = choice.stop_reason
  }

  private delta(delta: JsonObject): void {
    this.say({ type: 'thinking', text: reasoningText(delta) })
    for (const piece of piecesOf(delta.content)) this.say(piece)
    if (typeof delta.refusal === 'string' && delta.refusal !== '') {
      this.say({ type: 'text', text: delta.refusal })
      this.refused = true
    }
    if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls) this.fragment(call)
    if (isObject(delta.function_call)) this.fragment({ index: 0, function: delta.function_call })
  }

  private say(piece: Piece): void {
    if (piece.text === '') return
    if (piece.type === 'thinking') this.seen.thinking(piece.text)
    else this.seen.text(piece.text)
    if (this.active) this.held.push(piece)
    else this.answer.say(piece)
  }

  private fragment(fragment: unknown): void {
    if (!isObject(fragment)) return
    const { call, added } = this.list.take(fragment)
    this.seen.text(added)
    this.waiting.set(call, (this.waiting.get(call) ?? '') + added)
    this.pump()
  }

  private pump(): void {
    for (;;) {
      if (this.active) {
        this.flush(this.active)
        if (!this.active.progress.complete) return
        this.active = undefined
        this.sayHeld()
      }
      const next = this.list.calls[this.opened]
      if (!next || !isReady(next)) return
      this.open(next)
    }
  }

  private open(call: StreamedCall): void {
    this.opened++
    this.active = call
    this.answer.call(call.id, call.name)
  }

  private flush(call: StreamedCall): void {
    this.answer.delta(this.waiting.get(call) ?? '')
    this.waiting.delete(call)
  }

  private sayHeld(): void {
    for (const piece of this.held) this.answer.say(piece)
    this.held.length = 0
  }

  private writeRest(isWritten: (call: StreamedCall) => boolean): void {
    this.done = true
    if (this.active) this.flush(this.active)
    for (const call of this.list.calls.slice(this.opened).filter(isWritten)) {
      this.open(call)
      this.flush(call)
    }
    this.sayHeld()
  }

  private finish(): readonly TurnEvent[] {
    this.writeRest(() => true)
    const reason = this.refused ? 'refusal' : (this.note.reason ?? 'stop')
    this.answer.finish(reason, this.isCurrent ? this.usage : undefined, this.stopSequence)
    return this.answer.drain()
  }
}

export const decodeStream = (): StreamDecoder => new ChatStreamDecoder()
