import { isObject, type JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import type { FinishReason } from '../../core/turn.ts'
import { Alike, aroundIn } from '../alike.ts'
import { endsInHalf, honestReason, malformed, PARTS_MAX, parseAnswer, truncated } from '../answer.ts'
import { editMembers, jsonMembers, type MemberEdits, member, rawObject } from '../json.ts'
import { JsonOnly } from '../json-mode.ts'
import type { AnswerStream, Bill, View } from '../protocol.ts'
import { rawJson, stringify } from '../raw-json.ts'
import { dataFrame, type Frame, type SseReader } from '../sse.ts'
import { eachCall, eachChoice, isAsked, isSpeaking, onlyAsked, soleText } from './each.ts'
import { head } from './encode-stream.ts'
import { EndNote } from './end-note.ts'
import { CallMender } from './mend-calls.ts'
import { mendTexts } from './mend-texts.ts'
import { spokenIn, thoughtIn } from './response.ts'
import { spokenText } from './texts.ts'
import { DONE, FINISH_REASONS, isDone, readFinishReason, readUsage, writeUsage } from './wire.ts'

/** One of the answers under way; a caller may have asked for several. */
interface Choice {
  readonly index: unknown
  readonly calls: CallMender
  /** Set where the answer must parse. */
  readonly json: JsonOnly | undefined
  readonly note: EndNote
  hasRole: boolean
  /** Calls of the form that came before `tools`. */
  hasLegacyCall: boolean
  half: string
}

/** A chunk that says that answers are over: all that it speaks of, and those that it ends. */
interface Ending {
  readonly data: string
  readonly choices: readonly Choice[]
  readonly ended: readonly Choice[]
}

/**
 * The upstream's own chunks with the named edits. Its usage waits for the bill and is shown only to those who asked; so do
 * its endings, for what an upstream says of the end is a note: it may ride on content, come early, or repeat.
 */
class ChatStreamEditor implements AnswerStream {
  readonly seen = new Seen()
  done = false
  isComplete = false
  private readonly alike = new Alike(this.seen)
  private readonly view: View
  private readonly choices = new Map<unknown, Choice>()
  private readonly names: MemberEdits
  private created: unknown
  private usage = '{}'
  /** The latest of each answer. */
  private readonly endings = new Map<unknown, Ending>()

  constructor(view: View) {
    this.view = view
    const { id, model } = head(view)
    this.names = jsonMembers({ id, model })
  }

  push(frame: Frame): string {
    this.alike.forget()
    if (isDone(frame)) {
      if (this.choices.size === 0) throw truncated()
      this.done = true
      this.seen.conclude()
      return ''
    }
    const chunk = parseAnswer(frame.data)
    this.created ??= chunk.created ?? this.view.createdSeconds
    const text = this.passOn(chunk, frame)
    this.isComplete = this.isEvery(({ note }) => note.isComplete)
    if (isObject(chunk.usage)) this.report(chunk.usage, frame.data)
    return text
  }

  pushAlike(source: SseReader, charactersMax = -1): string | undefined {
    return this.alike.next(source, charactersMax)
  }

  private isEvery(is: (choice: Choice) => boolean): boolean {
    return this.choices.size >= this.view.choices && this.choices.values().every(is)
  }

  end(): string {
    if (!this.done && !this.isEvery(({ note }) => note.reason !== undefined)) throw truncated()
    this.seen.conclude()
    return ''
  }

  shorten(): string {
    for (const [key, { ended }] of this.endings) {
      if (!ended.every(({ note }) => note.isOver)) this.endings.delete(key)
    }
    const opening = this.choices.size === 0 ? this.begin() : ''
    for (const { note } of this.choices.values()) note.cut()
    this.isComplete = this.isEvery(({ note }) => note.isComplete)
    this.seen.reason = 'length'
    return opening
  }

  /** An answer that nothing has come of yet. */
  private begin(): string {
    const choice = this.choiceOf({})
    choice.hasRole = true
    return this.chunk(choice.index, { role: 'assistant', content: '' }, null)
  }

  close(bill: Bill): string {
    const silent = [...this.choices.values()].map(choice => this.fillSilence(choice))
    const said = [...this.endings.values()].map(ending => dataFrame(honest(ending)))
    const isSaid = new Set([...this.endings.values()].flatMap(({ ended }) => ended))
    const unsaid = [...this.choices.values()]
      .filter(choice => !isSaid.has(choice))
      .map(choice => this.chunk(choice.index, {}, FINISH_REASONS[endOf(choice)]))
    const endings = [...silent, ...said, ...unsaid].join('')
    if (!this.view.includeUsage) return endings + DONE
    const usage = rawJson(editMembers(this.usage, jsonMembers(writeUsage(bill))))
    return endings + dataFrame(stringify({ ...this.head(), choices: [], usage })) + DONE
  }

  private passOn(chunk: JsonObject, frame: Frame): string {
    const { data } = frame
    // Official clients throw on a chunk whose choices are no list of objects; it could not say anything anyway.
    if (!Array.isArray(chunk.choices) || !chunk.choices.every(isObject)) return ''
    if (chunk.choices.length === 0 && chunk.usage) return ''
    const wires = chunk.choices.filter(wire => isAsked(wire, this.view))
    if (wires.length === 0 && chunk.choices.length > 0) return ''
    const isFirst = wires.some(wire => !this.choiceOf(wire).hasRole)
    const isPlain = !isFirst && wires.every(wire => this.isAsItIs(wire))
    const text = editMembers(this.mended(wires, onlyAsked(data, chunk.choices, this.view)), this.identity(chunk))
    const choices = wires.map(wire => this.choiceOf(wire))
    const ended = choices.filter((_, place) => readFinishReason(wires[place]?.finish_reason) !== undefined)
    const sole = isPlain ? soleText(chunk) : undefined
    if (sole) this.alike.learn(frame, sole, () => aroundIn({ event: '', data: text }, sole.path))
    if (ended.length === 0) return dataFrame(text)
    const isBare = !isFirst && wires.every(({ delta }) => !isSpeaking(delta))
    // What was said is not said again: clients would count its tokens twice.
    const bare = eachChoice(text, raw => ({
      delta: '{}',
      ...(isBare || !member(raw, 0, 'logprobs') ? {} : { logprobs: 'null' }),
    }))
    this.endings.set(choices[0]?.index, { data: bare, choices, ended })
    return isBare ? '' : dataFrame(eachChoice(text, () => ({ finish_reason: 'null' })))
  }

  /** The contract, and what official clients cannot do without: a delta that is an object, a role at first and only then. */
  private mended(choices: readonly JsonObject[], data: string): string {
    for (const wire of choices) this.observe(wire, this.choiceOf(wire))
    // Nearly all chunks: nothing is read a second time.
    if (choices.every(wire => isRegular(wire, this.choiceOf(wire)))) return data
    return eachChoice(data, (raw, place) => {
      const wire = choices[place] ?? {}
      const choice = this.choiceOf(wire)
      const delta = isObject(wire.delta) ? wire.delta : {}
      const edits = {
        ...(choice.hasRole || delta.role === 'assistant' ? {} : { role: '"assistant"' }),
        ...(choice.hasRole && delta.role !== undefined ? { role: undefined } : {}),
        ...mendTexts(delta),
        ...this.contentEdits(delta, choice),
        ...(Array.isArray(delta.tool_calls) ? this.callEdits(rawObject(raw, 'delta'), delta, choice) : {}),
      }
      choice.hasRole = true
      const isWhole = isObject(wire.delta) && Object.keys(edits).length === 0
      return {
        ...(isWhole ? {} : { delta: editMembers(rawObject(raw, 'delta'), edits) }),
        ...(wire.index === undefined ? { index: '0' } : {}),
        // An empty word is an end to some agents.
        ...(wire.finish_reason === '' ? { finish_reason: 'null' } : {}),
      }
    })
  }

  private callEdits(raw: string, delta: JsonObject, { calls }: Choice): MemberEdits {
    return eachCall(raw, delta, (text, call) => calls.mend(text, call))
  }

  /** Half a character waits for the other half: what one client has of it, it cannot write. */
  private contentEdits(delta: JsonObject, choice: Choice): MemberEdits {
    const given = spokenText(delta.content)
    if (given === '') return {}
    const whole = choice.half + given
    const isCut = endsInHalf(whole)
    choice.half = isCut ? whole.slice(-1) : ''
    const text = isCut ? whole.slice(0, -1) : whole
    const content = choice.json ? choice.json.accept(text) : text
    return content === delta.content ? {} : jsonMembers({ content })
  }

  /** What it says is passed on letter by letter. */
  private isAsItIs(wire: JsonObject): boolean {
    const { json, half } = this.choiceOf(wire)
    return json === undefined && half === '' && !(isObject(wire.delta) && endsInHalf(spokenText(wire.delta.content)))
  }

  private choiceOf(wire: JsonObject): Choice {
    const index = wire.index ?? 0
    const known = this.choices.get(index)
    if (known) return known
    if (this.choices.size === PARTS_MAX) throw malformed()
    const json = this.view.wantsJson ? new JsonOnly() : undefined
    const choice = {
      index,
      calls: new CallMender(),
      json,
      note: new EndNote(),
      hasRole: false,
      hasLegacyCall: false,
      half: '',
    }
    this.choices.set(index, choice)
    return choice
  }

  private observe({ finish_reason, delta }: JsonObject, choice: Choice): void {
    choice.note.take(readFinishReason(finish_reason), isSpeaking(delta))
    this.seen.reason = choice.note.reason ?? this.seen.reason
    if (!isObject(delta)) return
    choice.hasLegacyCall ||= isObject(delta.function_call)
    this.seen.thinking(thoughtIn(delta))
    this.seen.text(spokenIn(delta))
  }

  private head() {
    return { ...head(this.view), created: this.created ?? this.view.createdSeconds }
  }

  private identity(chunk: JsonObject): MemberEdits {
    const { object, created } = this.head()
    return {
      ...this.names,
      ...(chunk.object === undefined ? jsonMembers({ object }) : {}),
      ...(chunk.created === created ? {} : jsonMembers({ created })),
      usage: this.view.includeUsage ? 'null' : undefined,
    }
  }

  private chunk(index: unknown, delta: unknown, reason: string | null): string {
    const choices = [{ index, delta, finish_reason: reason }]
    return dataFrame(JSON.stringify({ ...this.head(), choices, ...(this.view.includeUsage ? { usage: null } : {}) }))
  }

  private report(usage: JsonObject, data: string): void {
    this.usage = rawObject(data, 'usage')
    const counted = readUsage(usage)
    if (counted) this.seen.count(counted, this.isComplete)
  }

  /** The contract: the arguments of a call are JSON even where the vendor sends none, and so is an answer in JSON mode. */
  private fillSilence({ index, calls, json, note }: Choice): string {
    const empty = calls.missing.map(call => ({ tool_calls: [call] }))
    const content = json?.rest({ reason: note.reason, hasCalls: calls.hasCalls })
    return [...empty, ...(content ? [{ content }] : [])].map(delta => this.chunk(index, delta, null)).join('')
  }
}

const isRegular = ({ index, delta, finish_reason }: JsonObject, { hasRole, json, half }: Choice): boolean =>
  json === undefined &&
  half === '' &&
  index !== undefined &&
  finish_reason !== '' &&
  isObject(delta) &&
  hasRole &&
  delta.role === undefined &&
  !Array.isArray(delta.tool_calls) &&
  !delta.reasoning &&
  (typeof delta.content !== 'string' ? !Array.isArray(delta.content) : !endsInHalf(delta.content))

const endOf = ({ calls, note, hasLegacyCall }: Choice): FinishReason =>
  honestReason(note.reason ?? 'stop', calls.hasCalls || hasLegacyCall)

/** The upstream's own word on the end where it is true; its unknown words are its own. */
function honest({ data, choices }: Ending): string {
  return eachChoice(data, (_, place) => {
    const choice = choices[place]
    const isFalse = choice && endOf(choice) !== (choice.note.reason ?? 'stop')
    return isFalse ? jsonMembers({ finish_reason: FINISH_REASONS[endOf(choice)] }) : {}
  })
}

export const editStream = (view: View): AnswerStream => new ChatStreamEditor(view)
