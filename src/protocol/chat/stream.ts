import { isObject, type JsonObject } from '../../core/ask.ts'
import type { Block, FinishReason, TurnEvent } from '../../core/turn.ts'
import type { Usage } from '../../core/usage.ts'
import { AnswerWriter, type Piece, parseAnswer, piecesOf, truncated } from '../answer.ts'
import type { Bill, StreamDecoder, StreamEncoder, View } from '../protocol.ts'
import { dataFrame, type Frame } from '../sse.ts'
import { CallList, type StreamedCall } from './call-list.ts'
import { type Form, finishReason, formOf } from './calls.ts'
import { isSpeaking } from './each.ts'
import { EndNote } from './end-note.ts'
import { reasoningText } from './response.ts'
import { DONE, readFinishReason, readUsage, writeUsage } from './wire.ts'

export const isDone = (frame: Frame): boolean => frame.data.trim() === '[DONE]'

// ── dialect -> vocabulary ───────────────────────────────────────────────────────────────────────────────────────────

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
  /** Nothing has come since the upstream counted. */
  private isCurrent = false

  get isComplete(): boolean {
    return this.note.isComplete
  }

  push(frame: Frame): readonly TurnEvent[] {
    if (isDone(frame)) {
      if (!this.begun) throw truncated()
      return this.finish()
    }
    const chunk = parseAnswer(frame.data)
    const counted = readUsage(chunk.usage)
    this.usage = counted ?? this.usage
    const choice = firstChoice(chunk)
    if (choice) this.choice(choice)
    this.isCurrent ||= counted !== undefined
    this.isReported ||= this.isComplete && counted !== undefined
    return this.answer.drain()
  }

  end(): readonly TurnEvent[] {
    if (this.done) return []
    if (this.note.reason === undefined) throw truncated()
    return this.finish()
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
    if (this.active) this.held.push(piece)
    else this.answer.say(piece)
  }

  private fragment(fragment: unknown): void {
    if (!isObject(fragment)) return
    const { call, added } = this.list.take(fragment)
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

  private finish(): readonly TurnEvent[] {
    this.done = true
    if (this.active) this.flush(this.active)
    for (const call of this.list.calls.slice(this.opened)) {
      this.open(call)
      this.flush(call)
    }
    this.sayHeld()
    const reason = this.refused ? 'refusal' : (this.note.reason ?? 'stop')
    this.answer.finish(reason, this.isCurrent ? this.usage : undefined, this.stopSequence)
    return this.answer.drain()
  }
}

export const decodeStream = (): StreamDecoder => new ChatStreamDecoder()

// ── vocabulary -> dialect ───────────────────────────────────────────────────────────────────────────────────────────

export const head = (view: View) => ({
  id: `chatcmpl-${view.id}`,
  object: 'chat.completion.chunk',
  created: view.createdSeconds,
  model: view.model,
})

/** A call on its way to the caller. */
interface WrittenCall {
  readonly form: Form
  wrote: boolean
  heldBack: string
}

class ChatStreamEncoder implements StreamEncoder {
  private readonly view: View
  /** Every chunk begins and ends alike; only the delta is written each time. */
  private readonly before: string
  private readonly after: string
  private open: Block['type'] = 'text'
  private readonly calls: WrittenCall[] = []
  /** How many of them are complete. */
  private closed = 0
  private needsBreak = false
  private hasText = false
  private reason: FinishReason = 'stop'

  constructor(view: View) {
    this.view = view
    this.before = `${JSON.stringify(head(view)).slice(0, -1)},"choices":[{"index":0,"delta":`
    this.after = `}]${view.includeUsage ? ',"usage":null' : ''}}`
  }

  push(event: TurnEvent): string {
    switch (event.type) {
      case 'start':
        return this.chunk({ role: 'assistant', content: '' })
      case 'open':
        return this.openBlock(event.block)
      case 'delta':
        return this.delta(event.text, event.call ?? this.calls.length - 1)
      case 'close':
        return this.closeBlock()
      case 'finish':
        this.reason = event.reason
        return ''
    }
  }

  close(bill: Bill): string {
    const finish = this.chunk({}, finishReason(this.reason, this.view))
    if (!this.view.includeUsage) return finish + DONE
    return finish + dataFrame(JSON.stringify({ ...head(this.view), choices: [], usage: writeUsage(bill) })) + DONE
  }

  private openBlock(block: Block): string {
    this.open = block.type
    this.needsBreak = this.hasText
    if (block.type !== 'tool-call') return ''
    const call = { form: formOf(block.name, this.view), wrote: false, heldBack: '' }
    const index = this.calls.push(call) - 1
    return this.chunk(call.form.start({ index, id: block.id, name: block.name }))
  }

  private delta(text: string, call: number): string {
    switch (this.open) {
      case 'text':
        return this.text(text)
      case 'thinking':
        return this.chunk({ reasoning_content: text })
      case 'tool-call':
        return this.fragment(text, call)
    }
  }

  private fragment(text: string, index: number): string {
    const call = this.calls[index]
    if (!call) return ''
    call.wrote = true
    if (call.form.isHeldBack) call.heldBack += text
    return call.form.isHeldBack ? '' : this.chunk(call.form.fragment(index, text))
  }

  /** Two blocks of text read as two paragraphs. */
  private text(text: string): string {
    const content = this.needsBreak ? `\n\n${text}` : text
    this.needsBreak = false
    this.hasText = true
    return this.chunk({ content })
  }

  /** Clients parse the arguments whatever they are, so "none" is an empty object, never an empty string. */
  private closeBlock(): string {
    if (this.open !== 'tool-call') return ''
    let text = ''
    for (; this.closed < this.calls.length; this.closed++) {
      const { form, wrote, heldBack } = this.calls[this.closed] as WrittenCall
      if (form.isHeldBack) text += this.chunk(form.fragment(this.closed, heldBack))
      else if (!wrote) text += this.fragment('{}', this.closed)
    }
    return text
  }

  private chunk(delta: unknown, reason: string | null = null): string {
    if (delta === undefined) return ''
    return dataFrame(
      `${this.before}${JSON.stringify(delta)},"logprobs":null,"finish_reason":${JSON.stringify(reason)}${this.after}`,
    )
  }
}

export const encodeStream = (view: View): StreamEncoder => new ChatStreamEncoder(view)
