import { isObject, type JsonObject } from '../../core/ask.ts'
import type { Block, FinishReason, TurnEvent } from '../../core/turn.ts'
import type { Usage } from '../../core/usage.ts'
import { AnswerWriter, malformed, PARTS_MAX, parseAnswer, reportedError, truncated } from '../answer.ts'
import { textOf } from '../fields.ts'
import { rawAt, root } from '../json.ts'
import { legalName } from '../names.ts'
import type { Bill, DecodeOptions, StreamDecoder, StreamEncoder, View } from '../protocol.ts'
import { stringify } from '../raw-json.ts'
import { type Frame, namedFrame } from '../sse.ts'
import { TOOL_ID_LENGTH_MAX } from './response.ts'
import { toolInput } from './tool-input.ts'
import { hasOutputCount, readStopReason, readUsage, STOP_REASONS, writeUsage } from './wire.ts'

export const STOP = namedFrame('message_stop', '{"type":"message_stop"}')

export const write = (payload: { readonly type: string } & JsonObject): string =>
  namedFrame(payload.type, JSON.stringify(payload))

interface Event {
  readonly type: string
  readonly payload: JsonObject
}

/** Some servers leave the event's name out, some the payload's type; a mark of the other dialect means nothing here. */
export function parseEvent(frame: Frame): Event | undefined {
  if (frame.data.trim() === '[DONE]') return undefined
  const payload = parseAnswer(frame.data)
  const type = typeof payload.type === 'string' ? payload.type : frame.event
  if (type === 'error') throw reportedError(payload.message)
  // An event's name goes onto a line of its own, where a vendor must not be able to write more than a name.
  return /^[\w.-]+$/.test(type) ? { type, payload } : undefined
}

export const part = (payload: JsonObject, key: string): JsonObject => {
  const value = payload[key]
  return isObject(value) ? value : {}
}

// ── dialect -> vocabulary ───────────────────────────────────────────────────────────────────────────────────────────

/** One block as its events arrive. Blocks may overlap here; the vocabulary takes them one after the other. */
interface OpenBlock {
  readonly index: unknown
  readonly kind: 'text' | 'thinking' | 'tool-call' | 'ignored'
  readonly id: string
  readonly name: string
  /** What stands in the block's start: text, or the whole input of a call that gets no fragments. */
  readonly initial: string
  waiting: string
  begun: boolean
  /** Its number among the calls, once it has begun. */
  call: number
  wrote: boolean
  stopped: boolean
}

class MessagesStreamDecoder implements StreamDecoder {
  done = false
  private readonly answer = new AnswerWriter()
  private readonly blocks: OpenBlock[] = []
  private current = 0
  private isBegun = false
  private calls = 0
  private readonly callsMayOverlap: boolean
  private reason: FinishReason | undefined
  private stopSequence: string | undefined
  private reported = false
  usage: Usage | undefined
  isReported = false

  constructor({ callsMayOverlap }: DecodeOptions) {
    this.callsMayOverlap = callsMayOverlap
  }

  get isComplete(): boolean {
    return this.reason !== undefined
  }

  push(frame: Frame): readonly TurnEvent[] {
    const event = parseEvent(frame)
    if (event) this.event(event, frame)
    return this.answer.drain()
  }

  end(): readonly TurnEvent[] {
    if (this.done) return []
    if (this.reason === undefined) throw truncated()
    this.finish()
    return this.answer.drain()
  }

  private event({ type, payload }: Event, frame: Frame): void {
    this.isBegun ||= type === 'message_start' || type === 'content_block_start' || type === 'message_delta'
    switch (type) {
      case 'message_start':
        this.usage = readUsage(part(payload, 'message').usage, this.usage)
        this.answer.start(this.usage)
        break
      case 'content_block_start':
        if (this.blocks.length === PARTS_MAX) throw malformed()
        this.blocks.push(openBlock(payload, frame))
        this.pump()
        break
      case 'content_block_delta':
        this.delta(payload)
        break
      case 'content_block_stop': {
        const block = this.find(payload)
        if (block) block.stopped = true
        this.pump()
        break
      }
      case 'message_delta':
        this.note(payload)
        break
      case 'message_stop':
        if (!this.isBegun) throw truncated()
        this.finish()
        break
    }
  }

  private delta(payload: JsonObject): void {
    const block = this.find(payload)
    const { text, thinking, partial_json } = part(payload, 'delta')
    const piece = text ?? thinking ?? partial_json
    const isOver = block?.begun && block.stopped
    if (!block || isOver || typeof piece !== 'string') return
    block.waiting += piece
    if (block.begun) this.writeBlock(block)
    else this.pump()
  }

  private find(payload: JsonObject): OpenBlock | undefined {
    return this.blocks.findLast(({ index }) => index === payload.index)
  }

  private note(payload: JsonObject): void {
    this.usage = readUsage(payload.usage, this.usage)
    this.reported ||= hasOutputCount(payload.usage)
    const { stop_reason: reason, stop_sequence: sequence } = part(payload, 'delta')
    this.reason = readStopReason(reason) ?? this.reason
    if (typeof sequence === 'string') this.stopSequence = sequence
    this.isReported ||= this.reported && this.isComplete
  }

  /** Writes the current block live; the next one begins when it has stopped, or, among calls, where they may overlap. */
  private pump(): void {
    for (let place = this.current; place < this.blocks.length; place++) {
      const block = this.blocks[place] as OpenBlock
      if (place > this.current && !this.mayOverlap(block)) return
      this.writeBlock(block)
      if (block.stopped && block.kind === 'tool-call' && !block.wrote) this.writeText(block, block.initial)
      if (block.stopped && place === this.current) this.current++
    }
  }

  private mayOverlap({ kind }: OpenBlock): boolean {
    return this.callsMayOverlap && kind === 'tool-call' && this.blocks[this.current]?.kind === 'tool-call'
  }

  private writeBlock(block: OpenBlock): void {
    this.answer.start(this.usage)
    if (!block.begun) this.begin(block)
    const text = block.waiting
    block.waiting = ''
    this.writeText(block, text)
  }

  private begin(block: OpenBlock): void {
    block.begun = true
    if (block.kind !== 'tool-call') {
      block.waiting = block.initial + block.waiting
      return
    }
    block.call = this.calls++
    const isBeside = this.blocks[this.current] !== block
    if (isBeside) this.answer.callBeside(block.id, block.name)
    else this.answer.call(block.id, block.name)
  }

  private writeText(block: OpenBlock, text: string): void {
    block.wrote ||= text !== ''
    if (block.kind === 'tool-call') this.answer.fragment(text, block.call)
    else if (block.kind === 'ignored') this.answer.close()
    else this.answer.say({ type: block.kind, text })
  }

  private finish(): void {
    this.done = true
    for (const block of this.blocks) block.stopped = true
    this.pump()
    this.answer.start(this.usage)
    this.answer.finish(this.reason ?? 'stop', this.reported ? this.usage : undefined, this.stopSequence)
  }
}

const KINDS: ReadonlyMap<unknown, OpenBlock['kind']> = new Map([
  ['text', 'text'],
  ['thinking', 'thinking'],
  ['tool_use', 'tool-call'],
])

function openBlock(payload: JsonObject, frame: Frame): OpenBlock {
  const block = part(payload, 'content_block')
  const kind = KINDS.get(block.type) ?? 'ignored'
  const said = block.text ?? block.thinking
  const initial =
    kind === 'tool-call'
      ? (rawAt(frame.data, root(frame.data), 'content_block', 'input') ?? '{}')
      : typeof said === 'string'
        ? said
        : ''
  const [id, name] = [textOf(block.id), textOf(block.name)]
  return {
    index: payload.index,
    kind,
    id,
    name,
    initial,
    waiting: '',
    begun: false,
    call: -1,
    wrote: false,
    stopped: false,
  }
}

export const decodeStream = (options: DecodeOptions): StreamDecoder => new MessagesStreamDecoder(options)

// ── vocabulary -> dialect ───────────────────────────────────────────────────────────────────────────────────────────

class MessagesStreamEncoder implements StreamEncoder {
  private readonly view: View
  private open: Block['type'] = 'text'
  private index = 0
  private isHidden = false
  private hasInput = false
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
    this.hasInput = false
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
    if (this.hasInput) return this.write(text)
    this.heldInput += text
    if (!this.heldInput.trimStart().startsWith('{')) return ''
    this.hasInput = true
    return this.write(this.heldInput)
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
    const isMissing = this.open === 'tool-call' && !this.hasInput
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
