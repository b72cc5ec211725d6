import type { JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import type { Block, FinishReason, TurnEvent } from '../../core/turn.ts'
import type { Usage } from '../../core/usage.ts'
import { AnswerWriter, malformed, parseAnswer, reportedError, truncated } from '../answer.ts'
import { isObject } from '../fields.ts'
import { editMembers, jsonMembers, rawAt, rawObject, root } from '../json.ts'
import { legalToolId } from '../names.ts'
import type { AnswerStream, Bill, StreamDecoder, StreamEncoder, View } from '../protocol.ts'
import { type Frame, namedFrame } from '../sse.ts'
import { isThinking } from './response.ts'
import { readStopReason, readUsage, STOP_REASONS, writeUsage } from './wire.ts'

const TOOL_ID_LENGTH_MAX = 64
const STOP = namedFrame('message_stop', '{"type":"message_stop"}')

const write = (payload: { readonly type: string } & JsonObject): string =>
  namedFrame(payload.type, JSON.stringify(payload))

interface Event {
  readonly type: string
  readonly payload: JsonObject
}

/** Some servers leave the event's name out, some the payload's type; a mark of the other dialect means nothing here. */
function parseEvent(frame: Frame): Event | undefined {
  if (frame.data.trim() === '[DONE]') return undefined
  const payload = parseAnswer(frame.data)
  const type = typeof payload.type === 'string' ? payload.type : frame.event
  if (type === 'error') throw reportedError(payload.message)
  // An event's name goes onto a line of its own, where a vendor must not be able to write more than a name.
  return /^[\w.-]+$/.test(type) ? { type, payload } : undefined
}

const part = (payload: JsonObject, key: string): JsonObject => {
  const value = payload[key]
  return isObject(value) ? value : {}
}

// ── like pairs ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** The upstream's own events with the named edits; the closing ones wait for the bill. */
class MessagesStreamEditor implements AnswerStream {
  readonly seen = new Seen()
  done = false
  private readonly view: View
  private isStarted = false
  private hasCalls = false
  private shownBlocks = 0
  private ending = '{"type":"message_delta","delta":{}}'
  /** Indexes of blocks that are hidden; those behind them move up. */
  private readonly hidden = new Set<number>()

  constructor(view: View) {
    this.view = view
  }

  get isComplete(): boolean {
    return this.seen.reason !== undefined
  }

  push(frame: Frame): string {
    const event = parseEvent(frame)
    if (!event) return ''
    const { type, payload } = event
    switch (type) {
      case 'message_start':
        return this.start(payload, frame.data)
      case 'content_block_start':
        this.open(payload)
        return this.begin() + this.block(type, payload, frame.data)
      case 'content_block_delta':
        this.observe(part(payload, 'delta'))
        return this.block(type, payload, frame.data)
      case 'content_block_stop':
        return this.block(type, payload, frame.data)
      case 'message_delta':
        this.finish(payload, frame.data)
        return this.begin()
      case 'message_stop':
        this.done = true
        return ''
      default:
        return this.isStarted ? namedFrame(type, frame.data) : ''
    }
  }

  end(): string {
    if (!this.done && !this.isComplete) throw truncated()
    return this.begin()
  }

  close(bill: Bill): string {
    const empty = this.shownBlocks === 0 ? EMPTY_BLOCK : ''
    const usage = editMembers(rawObject(this.ending, 'usage'), jsonMembers(writeUsage(bill)))
    const edits = { type: '"message_delta"', delta: this.endingDelta(), usage }
    return empty + namedFrame('message_delta', editMembers(this.ending, edits)) + STOP
  }

  /** The contract: a call is a `tool_use` ending, whatever the vendor says. */
  private endingDelta(): string {
    const delta = part(JSON.parse(this.ending), 'delta')
    const isPlain = (readStopReason(delta.stop_reason) ?? 'stop') === 'stop'
    const { reason = 'stop' } = this.seen
    const stop = STOP_REASONS[this.hasCalls && reason === 'stop' ? 'tool-calls' : reason]
    return editMembers(rawObject(this.ending, 'delta'), {
      ...(isPlain ? jsonMembers({ stop_reason: stop }) : {}),
      ...(delta.stop_sequence === undefined ? jsonMembers({ stop_sequence: null }) : {}),
    })
  }

  /** An upstream that forgets its `message_start` gets one: clients cannot do without. */
  private begin(): string {
    return this.isStarted ? '' : this.start({}, '{}')
  }

  private start(payload: JsonObject, data: string): string {
    if (this.isStarted) return ''
    this.isStarted = true
    const message = part(payload, 'message')
    this.seen.usage = readUsage(message.usage)
    const raw = rawObject(data, 'message')
    const counters = absentIn(part(message, 'usage'), { input_tokens: this.view.promptEstimate, output_tokens: 0 })
    const { id, model } = this.view
    const edited = editMembers(raw, {
      ...jsonMembers({ ...absentIn(message, EMPTY_MESSAGE), id, model }),
      usage: editMembers(rawObject(raw, 'usage'), jsonMembers(counters)),
    })
    return namedFrame('message_start', editMembers(data, { type: '"message_start"', message: edited }))
  }

  private open({ index, content_block }: JsonObject): void {
    if (!this.view.showThinking && isThinking(content_block)) this.hidden.add(Number(index))
    else this.shownBlocks++
    this.hasCalls ||= isObject(content_block) && content_block.type === 'tool_use'
  }

  private block(type: string, { index }: JsonObject, data: string): string {
    if (!Number.isSafeInteger(index)) throw malformed()
    const place = index as number
    if (this.hidden.has(place)) return ''
    const before = [...this.hidden].filter(hidden => hidden < place).length
    return namedFrame(type, before === 0 ? data : editMembers(data, { index: String(place - before) }))
  }

  private observe({ text, thinking, partial_json }: JsonObject): void {
    const piece = text ?? thinking ?? partial_json
    if (typeof piece === 'string') this.seen.text(piece)
  }

  private finish(payload: JsonObject, data: string): void {
    this.ending = data
    this.seen.reason = readStopReason(part(payload, 'delta').stop_reason) ?? this.seen.reason
    const usage = readUsage(payload.usage, this.seen.usage)
    if (isObject(payload.usage) && usage) this.seen.report(usage)
  }
}

/** What every message begins with, for upstreams that leave some of it out. */
const EMPTY_MESSAGE = { type: 'message', role: 'assistant', content: [], stop_reason: null, stop_sequence: null }

const EMPTY_BLOCK =
  write({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
  write({ type: 'content_block_stop', index: 0 })

const absentIn = (given: JsonObject, defaults: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(defaults).filter(([key]) => given[key] === undefined))

export const editStream = (view: View): AnswerStream => new MessagesStreamEditor(view)

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
  wrote: boolean
  stopped: boolean
}

class MessagesStreamDecoder implements StreamDecoder {
  done = false
  private readonly answer = new AnswerWriter()
  private readonly blocks: OpenBlock[] = []
  private current = 0
  private begun = false
  private reason: FinishReason | undefined
  private stopSequence: string | undefined
  private reported = false
  usage: Usage | undefined

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
    switch (type) {
      case 'message_start':
        this.usage = readUsage(part(payload, 'message').usage, this.usage)
        this.answer.start(this.usage)
        break
      case 'content_block_start':
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
        this.finish()
        break
    }
  }

  private delta(payload: JsonObject): void {
    const block = this.find(payload)
    const { text, thinking, partial_json } = part(payload, 'delta')
    const piece = text ?? thinking ?? partial_json
    if (!block || typeof piece !== 'string') return
    block.waiting += piece
    this.pump()
  }

  private find(payload: JsonObject): OpenBlock | undefined {
    return this.blocks.findLast(({ index }) => index === payload.index)
  }

  private note(payload: JsonObject): void {
    this.usage = readUsage(payload.usage, this.usage)
    this.reported ||= isObject(payload.usage)
    const { stop_reason: reason, stop_sequence: sequence } = part(payload, 'delta')
    this.reason = readStopReason(reason) ?? this.reason
    if (typeof sequence === 'string') this.stopSequence = sequence
  }

  /** Writes the current block live; the next one begins when it has stopped. */
  private pump(): void {
    for (let block = this.blocks[this.current]; block; block = this.blocks[this.current]) {
      this.writeBlock(block)
      if (!block.stopped) return
      if (block.kind === 'tool-call' && !block.wrote) this.answer.delta(block.initial)
      this.current++
      this.begun = false
    }
  }

  private writeBlock(block: OpenBlock): void {
    this.answer.start(this.usage)
    if (!this.begun && block.kind === 'tool-call') this.answer.call(block.id, block.name)
    if (!this.begun && block.kind !== 'tool-call') block.waiting = block.initial + block.waiting
    this.begun = true
    const text = block.waiting
    block.waiting = ''
    block.wrote ||= text !== ''
    if (block.kind === 'tool-call') this.answer.delta(text)
    else if (block.kind === 'ignored') this.answer.close()
    else this.answer.say(block.kind, text)
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
  const [id, name] = [String(block.id ?? ''), String(block.name ?? '')]
  return { index: payload.index, kind, id, name, initial, waiting: '', wrote: false, stopped: false }
}

export const decodeStream = (): StreamDecoder => new MessagesStreamDecoder()

// ── vocabulary -> dialect ───────────────────────────────────────────────────────────────────────────────────────────

class MessagesStreamEncoder implements StreamEncoder {
  private readonly view: View
  private open: Block['type'] = 'text'
  private index = 0
  private isHidden = false
  private wroteInput = false
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
    this.wroteInput = false
    this.isHidden = block.type === 'thinking' && !this.view.showThinking
    return this.isHidden
      ? ''
      : write({ type: 'content_block_start', index: this.index, content_block: emptyBlock(block) })
  }

  private delta(text: string): string {
    if (this.isHidden) return ''
    this.wroteInput = true
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
    const input = this.open === 'tool-call' && !this.wroteInput ? this.delta('{}') : ''
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
      return { type: 'tool_use', id: legalToolId(block.id, TOOL_ID_LENGTH_MAX), name: block.name, input: {} }
  }
}

export const encodeStream = (view: View): StreamEncoder => new MessagesStreamEncoder(view)
