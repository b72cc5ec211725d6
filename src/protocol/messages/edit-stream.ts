import { isObject, type JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import { Alike, aroundIn, type SoleText } from '../alike.ts'
import { honestReason, malformed, PARTS_MAX, truncated } from '../answer.ts'
import { editMembers, jsonMembers, type MemberEdits, rawObject } from '../json.ts'
import type { AnswerStream, Bill, View } from '../protocol.ts'
import { type Frame, namedFrame, type SseReader } from '../sse.ts'
import { isThinking } from './content.ts'
import { INPUT, parseEvent, part, STOP, TEXT, THINKING, write } from './event.ts'
import { hasOutputCount, readStopReason, readUsage, STOP_REASONS, writeUsage } from './wire.ts'

/** What every message begins with, for upstreams that leave some of it out. */
const EMPTY_MESSAGE = { type: 'message', role: 'assistant', content: [], stop_reason: null, stop_sequence: null }

const EMPTY_BLOCK =
  write({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
  write({ type: 'content_block_stop', index: 0 })

const absentIn = (given: JsonObject, defaults: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(defaults).filter(([key]) => (given[key] ?? null) === null))

/** The upstream's own events with the named edits; the closing ones wait for the bill. */
class MessagesStreamEditor implements AnswerStream {
  readonly seen = new Seen()
  done = false
  private readonly alike = new Alike(this.seen)
  private readonly view: View
  private isStarted = false
  private hasCalls = false
  private shownBlocks = 0
  private ending = '{"type":"message_delta","delta":{}}'
  /** Indexes of blocks that are hidden; those behind them move up. */
  private readonly hidden = new Set<number>()
  private readonly openBlocks = new Set<unknown>()
  /** Inputs of calls that stood in their starts. */
  private readonly inputs = new Map<unknown, string>()

  constructor(view: View) {
    this.view = view
  }

  get isComplete(): boolean {
    return this.seen.reason !== undefined
  }

  push(frame: Frame): string {
    this.alike.forget()
    const event = parseEvent(frame)
    if (!event) return ''
    const { type, payload } = event
    const data = payload.type === type ? frame.data : editMembers(frame.data, jsonMembers({ type }))
    switch (type) {
      case 'message_start':
        return this.start(payload, data)
      case 'content_block_start':
        this.open(payload)
        return this.begin() + this.emptied(payload, data)
      case 'content_block_delta':
        this.observe(part(payload, 'delta'))
        this.inputs.delete(payload.index)
        this.learn(frame, payload, data)
        return this.block(type, payload, data)
      case 'content_block_stop':
        this.openBlocks.delete(payload.index)
        return this.filledInput(payload) + this.block(type, payload, data)
      case 'message_delta':
        this.finish(payload, data)
        return this.begin()
      case 'message_stop':
        if (!this.isStarted && !this.isComplete) throw truncated()
        this.done = true
        this.seen.conclude()
        return ''
      default:
        return this.isStarted ? namedFrame(type, data) : ''
    }
  }

  pushAlike(source: SseReader, charactersMax = -1): string | undefined {
    return this.alike.next(source, charactersMax)
  }

  private learn(frame: Frame, payload: JsonObject, data: string): void {
    const sole = soleText(part(payload, 'delta'))
    const place = payload.index
    if (!sole || !isPlace(place) || this.hidden.has(place)) return
    const event = 'content_block_delta'
    this.alike.learn(frame, sole, () => aroundIn({ event, data: this.moved(place, data) }, sole.path))
  }

  end(): string {
    if (!this.done && !this.isComplete) throw truncated()
    this.seen.conclude()
    return this.begin()
  }

  shorten(): string {
    this.seen.reason = 'length'
    return this.begin()
  }

  close(bill: Bill): string {
    const stops = this.stopOpenBlocks()
    const empty = this.shownBlocks === 0 ? EMPTY_BLOCK : ''
    const usage = editMembers(rawObject(this.ending, 'usage'), jsonMembers(writeUsage(bill)))
    const edits = { type: '"message_delta"', delta: this.endingDelta(), usage }
    return stops + empty + namedFrame('message_delta', editMembers(this.ending, edits)) + STOP
  }

  /** A block that nobody has closed is lost to some clients. */
  private stopOpenBlocks(): string {
    const ends = [...this.openBlocks].map(index => {
      const data = JSON.stringify({ type: 'content_block_stop', index })
      return this.filledInput({ index }) + this.block('content_block_stop', { index }, data)
    })
    return ends.join('')
  }

  /** The contract: a call is a `tool_use` ending, whatever the vendor says. */
  private endingDelta(): string {
    const delta = part(JSON.parse(this.ending), 'delta')
    const honest = honestReason(this.seen.reason ?? 'stop', this.hasCalls)
    const isHonest = readStopReason(delta.stop_reason) === honest
    return editMembers(rawObject(this.ending, 'delta'), {
      ...(isHonest ? {} : jsonMembers({ stop_reason: STOP_REASONS[honest] })),
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
    this.seen.usage = readUsage(message.usage, this.seen.usage)
    const raw = rawObject(data, 'message')
    const counters = absentIn(part(message, 'usage'), { input_tokens: this.view.promptEstimate, output_tokens: 0 })
    const { id, model } = this.view
    const edited = editMembers(raw, {
      ...jsonMembers({ ...absentIn(message, EMPTY_MESSAGE), id, model }),
      usage: editMembers(rawObject(raw, 'usage'), jsonMembers(counters)),
    })
    return namedFrame('message_start', editMembers(data, { type: '"message_start"', message: edited }))
  }

  /** Starts are empty, for some clients discard whatever stands in them: it comes as a delta, or before the stop. */
  private emptied(payload: JsonObject, data: string): string {
    const block = part(payload, 'content_block')
    const raw = rawObject(data, 'content_block')
    const start = (edits: MemberEdits) =>
      this.block('content_block_start', payload, editMembers(data, { content_block: editMembers(raw, edits) }))
    for (const field of ['text', 'thinking'] as const) {
      const said = block[field]
      if (block.type !== field || typeof said !== 'string' || said === '') continue
      return start({ [field]: '""' }) + this.delta(payload, { type: `${field}_delta`, [field]: said })
    }
    if (block.type !== 'tool_use' || !isObject(block.input) || Object.keys(block.input).length === 0)
      return this.block('content_block_start', payload, data)
    this.inputs.set(payload.index, rawObject(raw, 'input'))
    return start({ input: '{}' })
  }

  /** The input of a call that was in its start, and got no fragments. */
  private filledInput(payload: JsonObject): string {
    const input = this.inputs.get(payload.index)
    this.inputs.delete(payload.index)
    return input === undefined ? '' : this.delta(payload, { type: 'input_json_delta', partial_json: input })
  }

  private delta(payload: JsonObject, delta: JsonObject): string {
    const { index } = payload
    this.observe(delta)
    return this.block('content_block_delta', payload, JSON.stringify({ type: 'content_block_delta', index, delta }))
  }

  private open({ index, content_block }: JsonObject): void {
    if (!Number.isSafeInteger(index) || this.hidden.size + this.shownBlocks === PARTS_MAX) throw malformed()
    this.openBlocks.add(index)
    if (!this.view.showThinking && isThinking(content_block)) this.hidden.add(Number(index))
    else this.shownBlocks++
    this.hasCalls ||= isObject(content_block) && content_block.type === 'tool_use'
  }

  private block(type: string, { index }: JsonObject, data: string): string {
    if (!isPlace(index)) throw malformed()
    return this.hidden.has(index) ? '' : namedFrame(type, this.moved(index, data))
  }

  private moved(place: number, data: string): string {
    if (this.hidden.size === 0) return data
    const before = [...this.hidden].filter(hidden => hidden < place).length
    return before === 0 ? data : editMembers(data, { index: String(place - before) })
  }

  private observe({ text, thinking, partial_json }: JsonObject): void {
    const piece = text ?? partial_json
    if (typeof piece === 'string') this.seen.text(piece)
    else if (typeof thinking === 'string') this.seen.thinking(thinking)
  }

  private finish(payload: JsonObject, data: string): void {
    this.ending = data
    this.seen.reason = readStopReason(part(payload, 'delta').stop_reason) ?? this.seen.reason
    const usage = readUsage(payload.usage, this.seen.usage)
    if (usage && hasOutputCount(payload.usage)) this.seen.count(usage, this.isComplete)
    else this.seen.usage = usage
  }
}

const isPlace = (index: unknown): index is number => Number.isSafeInteger(index)

/** As `observe` sees it. */
function soleText({ text, thinking, partial_json }: JsonObject): SoleText | undefined {
  if (typeof (text ?? partial_json) === 'string') return text === undefined || text === null ? INPUT : TEXT
  return typeof thinking === 'string' ? THINKING : undefined
}

export const editStream = (view: View): AnswerStream => new MessagesStreamEditor(view)
