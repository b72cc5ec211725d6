import type { Block, FinishReason, TurnEvent } from '../../core/turn.ts'
import type { Usage } from '../../core/usage.ts'
import { type Around, aroundNothing } from '../alike.ts'
import { beginsObject } from '../json-progress.ts'
import { legalName } from '../names.ts'
import type { Bill, StreamEncoder, View } from '../protocol.ts'
import { stringify } from '../raw-json.ts'
import { STOP, write } from './event.ts'
import { TOOL_ID_LENGTH_MAX } from './response.ts'
import { toolInput } from './tool-input.ts'
import { STOP_REASONS, writeUsage } from './wire.ts'

class MessagesStreamEncoder implements StreamEncoder {
  private readonly view: View
  private open: Block['type'] = 'text'
  private index = 0
  private isHidden = false
  /** Of the input of a call; undefined until anything but blanks has come. */
  private isObject: boolean | undefined
  private heldInput = ''
  private reason: FinishReason = 'stop'
  private stopSequence: string | undefined

  constructor(view: View) {
    this.view = view
  }

  push(event: TurnEvent): string {
    switch (event.type) {
      case 'start':
        return this.start(event.usage)
      case 'open':
        return this.openBlock(event.block)
      case 'delta':
        return this.delta(event.text)
      case 'close':
        return this.closeBlock()
      case 'finish':
        this.reason = event.reason
        this.stopSequence = event.stopSequence
        return ''
    }
  }

  aroundDelta(): Around | undefined {
    return aroundNothing(this.delta(''))
  }

  close(bill: Bill): string {
    // Clients expect at least one block, even of an answer that says nothing.
    const empty = this.index === 0 ? this.openBlock({ type: 'text' }) + this.closeBlock() : ''
    const delta = { stop_reason: STOP_REASONS[this.reason], stop_sequence: this.stopSequence ?? null }
    return empty + write({ type: 'message_delta', delta, usage: writeUsage(bill) }) + STOP
  }

  private start(usage: Usage | undefined): string {
    const { id, model, promptEstimate } = this.view
    // The output starts at 0: one client adds this number to the final one.
    const counted = {
      input_tokens: usage?.input ?? promptEstimate,
      cache_creation_input_tokens: usage?.cacheWrite ?? 0,
      cache_read_input_tokens: usage?.cacheRead ?? 0,
      output_tokens: 0,
    }
    const empty = { content: [], stop_reason: null, stop_sequence: null }
    const message = { id, type: 'message', role: 'assistant', model, ...empty, usage: counted }
    return write({ type: 'message_start', message })
  }

  private openBlock(block: Block): string {
    this.open = block.type
    this.isObject = undefined
    this.heldInput = ''
    this.isHidden = block.type === 'thinking' && !this.view.showThinking
    return this.isHidden
      ? ''
      : write({ type: 'content_block_start', index: this.index, content_block: emptyBlock(block) })
  }

  private delta(text: string): string {
    if (this.isHidden) return ''
    return this.open === 'tool-call' ? this.input(text) : this.write(text)
  }

  /** The input of a call is an object. What begins as anything else waits until it is whole, and is wrapped then. */
  private input(text: string): string {
    if (this.isObject) return this.write(text)
    this.heldInput += text
    this.isObject ??= beginsObject(text)
    return this.isObject ? this.write(this.heldInput) : ''
  }

  private write(text: string): string {
    return write({ type: 'content_block_delta', index: this.index, delta: this.wireDelta(text) })
  }

  private wireDelta(text: string) {
    switch (this.open) {
      case 'text':
        return { type: 'text_delta', text }
      case 'thinking':
        return { type: 'thinking_delta', thinking: text }
      case 'tool-call':
        return { type: 'input_json_delta', partial_json: text }
    }
  }

  private closeBlock(): string {
    if (this.isHidden) return ''
    const isMissing = this.open === 'tool-call' && !this.isObject
    const input = isMissing ? this.write(stringify(toolInput(this.heldInput))) : ''
    return input + write({ type: 'content_block_stop', index: this.index++ })
  }
}

/** Starts are empty: one agent discards whatever stands in them. */
function emptyBlock(block: Block) {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' }
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'tool-call':
      return { type: 'tool_use', id: legalName(block.id, TOOL_ID_LENGTH_MAX), name: block.name, input: {} }
  }
}

export const encodeStream = (view: View): StreamEncoder => new MessagesStreamEncoder(view)
