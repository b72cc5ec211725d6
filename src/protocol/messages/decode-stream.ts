import type { JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import type { FinishReason, TurnEvent } from '../../core/turn.ts'
import type { Usage } from '../../core/usage.ts'
import { type SoleText, soleDelta } from '../alike.ts'
import { AnswerWriter, malformed, PARTS_MAX, truncated } from '../answer.ts'
import { textOf } from '../fields.ts'
import { rawAt, root } from '../json.ts'
import type { DecodeOptions, StreamDecoder } from '../protocol.ts'
import type { Frame } from '../sse.ts'
import { type Event, INPUT, parseEvent, part, TEXT, THINKING } from './event.ts'
import { hasOutputCount, readStopReason, readUsage } from './wire.ts'

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
  readonly seen = new Seen()
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
  soleText: SoleText | undefined

  constructor({ callsMayOverlap }: DecodeOptions) {
    this.callsMayOverlap = callsMayOverlap
  }

  get isComplete(): boolean {
    return this.reason !== undefined
  }

  push(frame: Frame): readonly TurnEvent[] {
    const event = parseEvent(frame)
    if (event) this.event(event, frame)
    const events = this.answer.drain()
    const written = soleDelta(events)
    this.soleText = event && written !== undefined ? this.findText(event, written) : undefined
    return events
  }

  /** Where the text of a delta stands, if it is all that was written. */
  private findText({ type, payload }: Event, written: string): SoleText | undefined {
    const delta = part(payload, 'delta')
    if (type !== 'content_block_delta' || pieceOf(delta) !== written) return undefined
    const { path } = [TEXT, THINKING].find(({ path: [, key] }) => (delta[String(key)] ?? null) !== null) ?? INPUT
    return { path, isThought: this.find(payload)?.kind === 'thinking' }
  }

  end(): readonly TurnEvent[] {
    if (this.done) return []
    if (this.reason === undefined) throw truncated()
    this.finish()
    return this.answer.drain()
  }

  cut(): readonly TurnEvent[] {
    this.writeRest()
    this.answer.finish('length', undefined)
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
        this.open(openBlock(payload, frame))
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

  private open(block: OpenBlock): void {
    this.blocks.push(block)
    if (block.kind !== 'tool-call') this.observe(block, block.initial)
  }

  private observe({ kind }: OpenBlock, piece: string): void {
    if (kind === 'thinking') this.seen.thinking(piece)
    else this.seen.text(piece)
  }

  private delta(payload: JsonObject): void {
    const block = this.find(payload)
    const piece = pieceOf(part(payload, 'delta'))
    const isOver = block?.begun && block.stopped
    if (!block || isOver || typeof piece !== 'string') return
    this.observe(block, piece)
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
      if (block.stopped && block.kind === 'tool-call' && !block.wrote) this.writeInitial(block)
      if (block.stopped && place === this.current) this.current++
    }
  }

  /** The whole input of a call that got no fragments. */
  private writeInitial(block: OpenBlock): void {
    this.observe(block, block.initial)
    this.writeText(block, block.initial)
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

  private writeRest(): void {
    this.done = true
    for (const block of this.blocks) block.stopped = true
    this.pump()
    this.answer.start(this.usage)
  }

  private finish(): void {
    this.writeRest()
    this.answer.finish(this.reason ?? 'stop', this.reported ? this.usage : undefined, this.stopSequence)
  }
}

const pieceOf = ({ text, thinking, partial_json }: JsonObject): unknown => text ?? thinking ?? partial_json

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
