import { isObject, type JsonObject } from '../../core/ask.ts'
import { parseAnswer } from '../answer.ts'
import { asText } from '../fields.ts'
import type { StreamFolder } from '../protocol.ts'
import type { Frame } from '../sse.ts'
import { isDone } from './wire.ts'

type Members = Record<string, unknown>

/** Members whose fragments are one text. */
const TEXTS = new Set(['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'])

/** One of the answers; a caller may have asked for several. */
class FoldedChoice {
  private readonly message = Object.assign(none(), { role: 'assistant', content: '', refusal: null })
  private readonly calls = new Map<unknown, Members>()
  private readonly logprobs = none()
  private readonly rest = none()

  add({ index, delta, logprobs, ...rest }: JsonObject): void {
    if (isObject(delta)) this.say(delta)
    if (isObject(logprobs)) merge(this.logprobs, logprobs)
    assign(this.rest, rest)
  }

  whole(index: number): JsonObject {
    const calls = [...this.calls.values()].map(({ index: _, ...call }) => call)
    const isCall = calls.length > 0 || this.message.function_call !== undefined
    const content = this.message.content === '' && isCall ? null : this.message.content
    const message = { ...this.message, content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
    const logprobs = Object.keys(this.logprobs).length > 0 ? this.logprobs : null
    return { index, message, logprobs, finish_reason: 'stop', ...this.rest }
  }

  private say({ role, tool_calls: calls, ...said }: JsonObject): void {
    merge(this.message, said)
    if (!Array.isArray(calls)) return
    for (const call of calls.filter(isObject)) {
      const known = this.calls.get(call.index)
      if (known) merge(known, call)
      else this.calls.set(call.index, merge(none(), call))
    }
  }
}

/** What was said last of each member; null says nothing. */
function assign(whole: Members, said: JsonObject): void {
  for (const [key, value] of Object.entries(said)) if (value !== null) whole[key] = value
}

/** Adds what a fragment has to what there is: texts and lists grow, everything else is as it was said last. */
function merge(whole: Members, fragment: JsonObject): Members {
  for (const [key, value] of Object.entries(fragment)) {
    const before = whole[key]
    if (value === null) continue
    if (TEXTS.has(key) && typeof value === 'string') whole[key] = (asText(before) ?? '') + value
    else if (Array.isArray(value)) whole[key] = Array.isArray(before) ? appended(before, value) : [...value]
    else if (isObject(value)) whole[key] = merge(isObject(before) ? before : none(), value)
    else whole[key] = value
  }
  return whole
}

/** Copying a long list for each of its elements would take the square of their number. */
function appended(list: unknown[], more: readonly unknown[]): unknown[] {
  for (const item of more) list.push(item)
  return list
}

/** Without a prototype: a vendor may give a member any name. */
const none = (): Members => Object.create(null)

class ChatFolder implements StreamFolder {
  private readonly head = none()
  private readonly choices = new Map<number, FoldedChoice>()
  private usage: JsonObject = {}

  push(frame: Frame): void {
    if (isDone(frame)) return
    const { choices, usage, ...head } = parseAnswer(frame.data)
    assign(this.head, head)
    if (isObject(usage)) this.usage = usage
    if (Array.isArray(choices)) for (const choice of choices.filter(isObject)) this.choiceOf(choice).add(choice)
  }

  render(): string {
    const choices = [...this.choices].toSorted(([a], [b]) => a - b).map(([index, choice]) => choice.whole(index))
    return JSON.stringify({ ...this.head, object: 'chat.completion', choices, usage: this.usage })
  }

  private choiceOf({ index }: JsonObject): FoldedChoice {
    const place = typeof index === 'number' ? index : 0
    const choice = this.choices.get(place) ?? new FoldedChoice()
    this.choices.set(place, choice)
    return choice
  }
}

export const foldStream = (): StreamFolder => new ChatFolder()
