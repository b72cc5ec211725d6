import type { Block, FinishReason, TurnEvent } from '../../core/turn.ts'
import { type Around, aroundNothing } from '../alike.ts'
import type { Bill, StreamEncoder, View } from '../protocol.ts'
import { dataFrame } from '../sse.ts'
import { type Form, finishReason, formOf } from './calls.ts'
import { DONE, writeUsage } from './wire.ts'

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

  aroundDelta(): Around | undefined {
    return aroundNothing(this.delta('', this.calls.length - 1))
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
