import { isObject, type JsonObject } from '../../core/ask.ts'
import type { Block, FinishReason, TurnEvent } from '../../core/turn.ts'
import type { Usage } from '../../core/usage.ts'
import { AnswerWriter, flatText, parseAnswer, truncated } from '../answer.ts'
import { JsonProgress } from '../json.ts'
import type { Bill, StreamDecoder, StreamEncoder, View } from '../protocol.ts'
import { dataFrame, type Frame } from '../sse.ts'
import { argumentsText } from './response.ts'
import { DONE, FINISH_REASONS, readFinishReason, readUsage, writeUsage } from './wire.ts'

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

/**
 * Finish reason and usage are notes, not ends: they ride on content, come early, or repeat. The end is `[DONE]`, or the
 * end of the stream once a reason was given. Only one block is open at a time: fragments of another call, and text that
 * comes while a call's JSON is incomplete, wait their turn.
 */
class ChatStreamDecoder implements StreamDecoder {
  done = false
  private readonly answer = new AnswerWriter()
  private readonly calls: Call[] = []
  private readonly held: { type: 'text' | 'thinking'; text: string }[] = []
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
    this.say('thinking', flatText(delta.reasoning_content ?? delta.reasoning))
    this.say('text', flatText(delta.content))
    if (typeof delta.refusal === 'string' && delta.refusal !== '') {
      this.say('text', delta.refusal)
      this.refused = true
    }
    if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls) this.fragment(call)
    if (isObject(delta.function_call)) this.fragment({ index: 0, function: delta.function_call })
  }

  private say(type: 'text' | 'thinking', text: string): void {
    if (text === '') return
    if (this.active) this.held.push({ type, text })
    else this.answer.say(type, text)
  }

  private fragment(fragment: unknown): void {
    if (!isObject(fragment)) return
    const made = isObject(fragment.function) ? fragment.function : {}
    const id = typeof fragment.id === 'string' ? fragment.id : ''
    const name = typeof made.name === 'string' ? made.name : ''
    const call = this.find(fragment.index, id, name)
    if (!call) return
    // The first id and name win: some vendors repeat them on every fragment.
    call.id ||= id
    call.name ||= name
    call.waiting += argumentsText(made.arguments)
    this.pump()
  }

  private find(index: unknown, id: string, name: string): Call | undefined {
    const known = this.calls.findLast(call =>
      typeof index === 'number' ? call.index === index : id === '' ? name === '' : call.id === id,
    )
    // Some vendors number every call 0: another id together with a name is another call.
    const isAnother = known && id !== '' && known.id !== '' && known.id !== id && name !== ''
    if (known && !isAnother) return known
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
      if (!next || next.name === '') return
      this.open(next)
    }
  }

  private open(call: Call): void {
    this.opened++
    this.active = call
    this.answer.call(call.id, call.name)
  }

  private flush(call: Call): void {
    this.answer.delta(call.progress.accept(call.waiting))
    call.waiting = ''
  }

  private sayHeld(): void {
    for (const { type, text } of this.held) this.answer.say(type, text)
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

class ChatStreamEncoder implements StreamEncoder {
  private readonly view: View
  /** Every chunk begins and ends alike; only the delta is written each time. */
  private readonly before: string
  private readonly after: string
  private open: Block['type'] = 'text'
  private calls = 0
  private wroteArguments = false
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
        return this.delta(event.text)
      case 'close':
        return this.closeBlock()
      case 'finish':
        this.reason = event.reason
        return ''
    }
  }

  close(bill: Bill): string {
    const finish = this.chunk({}, FINISH_REASONS[this.reason])
    if (!this.view.includeUsage) return finish + DONE
    return finish + dataFrame(JSON.stringify({ ...head(this.view), choices: [], usage: writeUsage(bill) })) + DONE
  }

  private openBlock(block: Block): string {
    this.open = block.type
    this.needsBreak = this.hasText
    if (block.type !== 'tool-call') return ''
    this.wroteArguments = false
    const { id, name } = block
    return this.chunk({
      tool_calls: [{ index: this.calls++, id, type: 'function', function: { name, arguments: '' } }],
    })
  }

  private delta(text: string): string {
    switch (this.open) {
      case 'text':
        return this.text(text)
      case 'thinking':
        return this.chunk({ reasoning_content: text })
      case 'tool-call':
        this.wroteArguments = true
        return this.chunk({ tool_calls: [{ index: this.calls - 1, function: { arguments: text } }] })
    }
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
    if (this.open !== 'tool-call' || this.wroteArguments) return ''
    return this.delta('{}')
  }

  private chunk(delta: unknown, reason: string | null = null): string {
    return dataFrame(
      `${this.before}${JSON.stringify(delta)},"logprobs":null,"finish_reason":${JSON.stringify(reason)}${this.after}`,
    )
  }
}

export const encodeStream = (view: View): StreamEncoder => new ChatStreamEncoder(view)
