import { isObject, type JsonObject } from '../../core/ask.ts'
import type { Block, FinishReason, TurnEvent } from '../../core/turn.ts'
import type { Usage } from '../../core/usage.ts'
import { AnswerWriter, type Piece, parseAnswer, piecesOf, truncated } from '../answer.ts'
import { JsonProgress } from '../json.ts'
import type { Bill, StreamDecoder, StreamEncoder, View } from '../protocol.ts'
import { dataFrame, type Frame } from '../sse.ts'
import { type Form, finishReason, formOf } from './calls.ts'
import { findCall } from './fragments.ts'
import { argumentsText, reasoningText } from './response.ts'
import { DONE, readFinishReason, readUsage, writeUsage } from './wire.ts'

export const isDone = (frame: Frame): boolean => frame.data.trim() === '[DONE]'

// ── dialect -> vocabulary ───────────────────────────────────────────────────────────────────────────────────────────

/** The vocabulary holds one answer; others are not asked for where dialects are crossed. */
function firstChoice({ choices }: JsonObject): JsonObject | undefined {
  return Array.isArray(choices) ? choices.find(choice => isObject(choice) && (choice.index ?? 0) === 0) : undefined
}

/** One tool call as its fragments arrive, in whatever order the vendor interleaves them. */
interface Call {
  readonly index: unknown
  id: string
  name: string
  waiting: string
  readonly progress: JsonProgress
}

/** A call begins with its name and its id; one that is complete without an id will not get one any more. */
const isReady = ({ id, name, progress }: Call): boolean => name !== '' && (id !== '' || progress.complete)

/**
 * Finish reason and usage are notes, not ends: they ride on content, come early, or repeat. The end is `[DONE]`, or the
 * end of the stream once a reason was given. Only one block is open at a time: fragments of another call, and text that
 * comes while a call's JSON is incomplete, wait their turn.
 */
class ChatStreamDecoder implements StreamDecoder {
  done = false
  private readonly answer = new AnswerWriter()
  private readonly calls: Call[] = []
  private readonly held: Piece[] = []
  private active: Call | undefined
  private opened = 0
  private begun = false
  private reason: FinishReason | undefined
  private refused = false
  private stopSequence: string | undefined
  usage: Usage | undefined
  isReported = false

  get isComplete(): boolean {
    return this.reason !== undefined
  }

  push(frame: Frame): readonly TurnEvent[] {
    if (isDone(frame)) {
      if (!this.begun) throw truncated()
      return this.finish()
    }
    const chunk = parseAnswer(frame.data)
    this.usage = readUsage(chunk.usage) ?? this.usage
    const choice = firstChoice(chunk)
    if (choice) this.choice(choice)
    this.isReported ||= this.isComplete && isObject(chunk.usage) && this.usage !== undefined
    return this.answer.drain()
  }

  end(): readonly TurnEvent[] {
    if (this.done) return []
    if (this.reason === undefined) throw truncated()
    return this.finish()
  }

  private choice(choice: JsonObject): void {
    this.begun = true
    this.answer.start(this.usage)
    if (isObject(choice.delta)) this.delta(choice.delta)
    this.reason = readFinishReason(choice.finish_reason) ?? this.reason
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
    const made = isObject(fragment.function) ? fragment.function : {}
    const id = typeof fragment.id === 'string' ? fragment.id : ''
    const name = typeof made.name === 'string' ? made.name : ''
    const call = findCall(this.calls, { index: fragment.index, id, name }) ?? this.begin(fragment.index)
    // The first id and name win: some vendors repeat them on every fragment.
    call.id ||= id
    call.name ||= name
    call.waiting += call.progress.accept(argumentsText(made.arguments))
    this.pump()
  }

  private begin(index: unknown): Call {
    const call = { index, id: '', name: '', waiting: '', progress: new JsonProgress() }
    this.calls.push(call)
    return call
  }

  private pump(): void {
    for (;;) {
      if (this.active) {
        this.flush(this.active)
        if (!this.active.progress.complete) return
        this.active = undefined
        this.sayHeld()
      }
      const next = this.calls[this.opened]
      if (!next || !isReady(next)) return
      this.open(next)
    }
  }

  private open(call: Call): void {
    this.opened++
    this.active = call
    this.answer.call(call.id, call.name)
  }

  private flush(call: Call): void {
    this.answer.delta(call.waiting)
    call.waiting = ''
  }

  private sayHeld(): void {
    for (const piece of this.held) this.answer.say(piece)
    this.held.length = 0
  }

  private finish(): readonly TurnEvent[] {
    this.done = true
    if (this.active) this.flush(this.active)
    while (this.opened < this.calls.length) {
      const call = this.calls[this.opened] as Call
      this.open(call)
      this.flush(call)
    }
    this.sayHeld()
    this.answer.finish(this.refused ? 'refusal' : (this.reason ?? 'stop'), this.usage, this.stopSequence)
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
    return dataFrame(
      `${this.before}${JSON.stringify(delta)},"logprobs":null,"finish_reason":${JSON.stringify(reason)}${this.after}`,
    )
  }
}

export const encodeStream = (view: View): StreamEncoder => new ChatStreamEncoder(view)
