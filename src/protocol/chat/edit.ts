import { type Ask, isObject, type JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import type { FinishReason } from '../../core/turn.ts'
import { flatText, parseAnswer, truncated } from '../answer.ts'
import {
  editMembers,
  editMessages,
  jsonMembers,
  type MemberEdits,
  type Path,
  RawJson,
  rawAt,
  rawObject,
  rawText,
  replaceAt,
  root,
  stringify,
} from '../json.ts'
import type { Answer, AnswerStream, Bill, Target, View } from '../protocol.ts'
import { dataFrame, type Frame } from '../sse.ts'
import { withheldMembers } from '../withhold.ts'
import { argumentsText, firstChoice, toolCalls } from './response.ts'
import { head, isDone } from './stream.ts'
import { DONE, FINISH_REASONS, readFinishReason, readUsage, writeUsage } from './wire.ts'

/** Like pairs: what the other side wrote, with the named edits and nothing else. */

// ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The caller's own text with the named edits; everything else is forwarded as it came. */
export function editRequest(ask: Ask, target: Target): string {
  const text = withoutDevelopers(ask)
  const changes: Record<string, string | undefined> = { model: JSON.stringify(target.model) }
  if (ask.stream && !ask.includeUsage) {
    const options = rawAt(ask.text, root(ask.text), 'stream_options')
    changes.stream_options = editMembers(options?.startsWith('{') ? options : '{}', { include_usage: 'true' })
  }
  return editMembers(text, { ...withheldMembers(ask.body, target.withheld), ...changes, ...limitEdits(ask, target) })
}

/** The newer name of a role that every server of this dialect knows by its older one. */
function withoutDevelopers({ body, text }: Ask): string {
  const messages = body.messages as readonly JsonObject[]
  if (!messages.some(({ role }) => role === 'developer')) return text
  return editMessages(text, (place, span) =>
    messages[place]?.role === 'developer' ? editMembers(rawText(text, span), { role: '"system"' }) : undefined,
  )
}

/** The limit moves only when it has to: to another field, or down to what is held. */
function limitEdits(ask: Ask, target: Target): MemberEdits {
  const { body, maxTokens: asked } = ask
  const unused = target.maxTokensField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  const isInPlace = asked === target.maxTokens && (body[unused] === undefined || body[unused] === null)
  if (isInPlace) return {}
  return { [unused]: undefined, [target.maxTokensField]: target.maxTokens && String(target.maxTokens) } as MemberEdits
}

// ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The upstream's own text with the named edits: id, model, the bill, and endings and arguments by the contract. */
export function editBody(text: string, view: View): Answer {
  const body = parseAnswer(text)
  const { choice, message, reason } = firstChoice(body)
  const seen = new Seen()
  seen.reason = reason
  const usage = readUsage(body.usage)
  if (usage) seen.count(usage, true)
  if (!usage?.output) for (const said of (body.choices as unknown[]).map(saidIn)) seen.text(said)
  return {
    seen,
    render: bill =>
      editMembers(mendChoice(text, choice, message), {
        id: JSON.stringify(`chatcmpl-${view.id}`),
        model: JSON.stringify(view.model),
        usage: editMembers(rawObject(text, 'usage'), jsonMembers(writeUsage(bill))),
      }),
  }
}

/** All that a choice says, for the count where the upstream has none. */
function saidIn(choice: unknown): string {
  if (!isObject(choice) || !isObject(choice.message)) return ''
  const { message } = choice
  const made = toolCalls(message).map(call => call.arguments)
  return [flatText(message.reasoning_content ?? message.reasoning), flatText(message.content), ...made].join('')
}

/** The contract: a call is a `tool_calls` ending, and its arguments are JSON, whatever the vendor says. */
function mendChoice(text: string, choice: JsonObject, message: JsonObject): string {
  const calls: unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : []
  const filled = calls.flatMap((call, place): [Path, string][] => {
    const isSilent = isObject(call) && isObject(call.function) && call.function.arguments === ''
    return isSilent ? [[['choices', 0, 'message', 'tool_calls', place, 'function', 'arguments'], '"{}"']] : []
  })
  const mended = replaceAt(text, filled)
  const isHonest = typeof choice.finish_reason === 'string' && !(choice.finish_reason === 'stop' && calls.length > 0)
  if (isHonest) return mended
  const ending = jsonMembers({ finish_reason: FINISH_REASONS[calls.length > 0 ? 'tool-calls' : 'stop'] })
  const whole = rawAt(mended, root(mended), 'choices', 0) ?? '{}'
  return replaceAt(mended, [[['choices', 0], editMembers(whole, ending)]])
}

// ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One of the answers under way; a caller may have asked for several. */
interface Choice {
  /** Calls by their index, and whether any text of their arguments has come. */
  readonly calls: Map<unknown, boolean>
  reason: FinishReason | undefined
}

/** The upstream's own chunks with the named edits; its usage waits for the bill and is shown only to those who asked. */
class ChatStreamEditor implements AnswerStream {
  readonly seen = new Seen()
  done = false
  private readonly view: View
  private readonly choices = new Map<unknown, Choice>()
  private created: unknown
  private usage = '{}'
  /** Chunks that say that an answer is over: they wait for the bill, as every ending does. */
  private endings = ''

  constructor(view: View) {
    this.view = view
    this.created = view.createdSeconds
  }

  get isComplete(): boolean {
    return this.choices.size > 0 && this.choices.values().every(({ reason }) => reason !== undefined)
  }

  push(frame: Frame): string {
    if (isDone(frame)) {
      if (this.choices.size === 0) throw truncated()
      this.done = true
      this.seen.conclude()
      return ''
    }
    const chunk = parseAnswer(frame.data)
    this.created = chunk.created ?? this.created
    const text = this.passOn(chunk, frame)
    if (isObject(chunk.usage)) this.report(chunk.usage, frame.data)
    return text
  }

  end(): string {
    if (!this.done && !this.isComplete) throw truncated()
    this.seen.conclude()
    return ''
  }

  shorten(): string {
    let text = ''
    for (const [index, choice] of this.choices) {
      if (choice.reason !== undefined) continue
      choice.reason = 'length'
      text += this.chunk(index, {}, FINISH_REASONS.length)
    }
    this.seen.reason = 'length'
    return text
  }

  close(bill: Bill): string {
    const missing = [...this.choices].map(([index, { calls, reason }]) => {
      if (reason !== undefined) return ''
      return this.chunk(index, {}, FINISH_REASONS[calls.size > 0 ? 'tool-calls' : 'stop'])
    })
    const endings = this.endings + missing.join('')
    if (!this.view.includeUsage) return endings + DONE
    const usage = new RawJson(editMembers(this.usage, jsonMembers(writeUsage(bill))))
    return endings + dataFrame(stringify({ ...this.head(), choices: [], usage })) + DONE
  }

  private passOn(chunk: JsonObject, frame: Frame): string {
    // Official clients throw on a chunk whose choices are no list of objects; it could not say anything anyway.
    if (!Array.isArray(chunk.choices) || !chunk.choices.every(isObject)) return ''
    if (chunk.choices.length === 0 && chunk.usage) return ''
    let before = ''
    let text = editMembers(frame.data, this.identity(chunk))
    let isEnding = false
    chunk.choices.forEach((wire, place) => {
      const choice = this.observe(wire)
      isEnding ||= readFinishReason(wire.finish_reason) !== undefined
      before += this.fillSilentCalls(wire, choice)
      text = mendChunk(text, place, { wire, hasCalls: choice.calls.size > 0 })
    })
    const frames = before + dataFrame(text)
    if (!isEnding) return frames
    this.endings += frames
    return ''
  }

  private head() {
    return { ...head(this.view), created: this.created }
  }

  private identity(chunk: JsonObject): MemberEdits {
    const { id, model, object, created } = this.head()
    return {
      ...jsonMembers({ id, model }),
      ...(chunk.object === undefined ? jsonMembers({ object }) : {}),
      ...(chunk.created === undefined ? jsonMembers({ created }) : {}),
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

  private observe(wire: JsonObject): Choice {
    const index = wire.index ?? 0
    const choice = this.choices.get(index) ?? { calls: new Map(), reason: undefined }
    this.choices.set(index, choice)
    choice.reason = readFinishReason(wire.finish_reason) ?? choice.reason
    this.seen.reason = choice.reason ?? this.seen.reason
    if (!isObject(wire.delta)) return choice
    const { content, reasoning_content, reasoning, tool_calls } = wire.delta
    this.seen.text(flatText(content) + flatText(reasoning_content ?? reasoning))
    if (!Array.isArray(tool_calls)) return choice
    for (const call of tool_calls.filter(isObject)) {
      const made = isObject(call.function) ? argumentsText(call.function.arguments) : ''
      this.seen.text(made)
      choice.calls.set(call.index, made !== '' || choice.calls.get(call.index) === true)
    }
    return choice
  }

  /** The contract: the arguments of a call are JSON, even where the vendor sends none. */
  private fillSilentCalls(wire: JsonObject, { calls }: Choice): string {
    if (readFinishReason(wire.finish_reason) === undefined) return ''
    const silent = [...calls].filter(([, hasArguments]) => !hasArguments)
    return silent
      .map(([call]) => {
        calls.set(call, true)
        const fragment = { index: call, function: { arguments: '{}' } }
        return this.chunk(wire.index ?? 0, { tool_calls: [fragment] }, null)
      })
      .join('')
  }
}

/** The contract: a call is a `tool_calls` ending, whatever the vendor says. And a delta is an object, always. */
function mendChunk(text: string, place: number, { wire, hasCalls }: { wire: JsonObject; hasCalls: boolean }): string {
  const changes = {
    ...(isObject(wire.delta) ? {} : { delta: '{}' }),
    ...(hasCalls && wire.finish_reason === 'stop' ? { finish_reason: '"tool_calls"' } : {}),
  }
  if (Object.keys(changes).length === 0) return text
  const choice = rawAt(text, root(text), 'choices', place) ?? '{}'
  return replaceAt(text, [[['choices', place], editMembers(choice, changes)]])
}

export const editStream = (view: View): AnswerStream => new ChatStreamEditor(view)
