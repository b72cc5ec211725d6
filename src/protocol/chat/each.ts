import { isObject, type JsonObject } from '../../core/ask.ts'
import type { SoleText } from '../alike.ts'
import { editMembers, elementSpans, type MemberEdits, rawText } from '../json.ts'
import type { View } from '../protocol.ts'

/** Edits inside answers of either form, whole or chunk; what is not changed keeps its text. */

/** Changes members of the choices of a chunk, where there is something to change. */
export function eachChoice(data: string, change: (raw: string, place: number) => MemberEdits): string {
  let isChanged = false
  const written = elementSpans(data, 'choices').map((span, place) => {
    const raw = rawText(data, span)
    const edits = change(raw, place)
    if (Object.keys(edits).length === 0) return raw
    isChanged = true
    return editMembers(raw, edits)
  })
  return isChanged ? editMembers(data, { choices: `[${written.join(',')}]` }) : data
}

/** Writes the calls of a message or a delta anew, or takes them out, where there is something to change. */
export function eachCall(
  raw: string,
  { tool_calls: calls }: JsonObject,
  change: (raw: string, call: JsonObject) => string | undefined,
): MemberEdits {
  if (!Array.isArray(calls)) return {}
  const texts = elementSpans(raw, 'tool_calls').map(span => rawText(raw, span))
  const changed = texts.map((text, place) => (isObject(calls[place]) ? change(text, calls[place]) : text))
  if (changed.every((text, place) => text === texts[place])) return {}
  const kept = changed.filter(text => text !== undefined)
  return { tool_calls: kept.length > 0 ? `[${kept.join(',')}]` : undefined }
}

/** Whether a delta says anything but who speaks. */
export function isSpeaking(delta: unknown): boolean {
  if (!isObject(delta)) return false
  for (const key in delta) if (key !== 'role' && isSaying(delta[key])) return true
  return false
}

const isSaying = (value: unknown): boolean =>
  value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)

const CONTENT: SoleText = { path: ['choices', 0, 'delta', 'content'], isThought: false }
const REASONING: SoleText = { path: ['choices', 0, 'delta', 'reasoning_content'], isThought: true }

/**
 * Where the text of a chunk stands that speaks of one answer, says one text of it, and neither ends nor counts it; only if
 * it is the text that was `written`, where that is given.
 */
export function soleText({ choices, usage }: JsonObject, written?: string): SoleText | undefined {
  if (!Array.isArray(choices) || choices.length !== 1 || isObject(usage)) return undefined
  const { delta, finish_reason: reason } = choices[0]
  if (!isObject(delta) || (typeof reason === 'string' && reason !== '')) return undefined
  let said: string | undefined
  for (const key in delta) {
    if (key === 'role' || !isSaying(delta[key])) continue
    if (said !== undefined || typeof delta[key] !== 'string') return undefined
    said = key
  }
  if (said === undefined || delta[said] !== (written ?? delta[said])) return undefined
  if (said === 'content') return CONTENT
  return said === 'reasoning_content' ? REASONING : undefined
}

/** Clients take the first answer they find for the one they wanted; one that nobody asked for is none. */
export const isAsked = (choice: unknown, { choices }: View): boolean =>
  !isObject(choice) || typeof choice.index !== 'number' || choice.index < choices

/** An answer, or a chunk of one, without the choices that nobody asked for. */
export function onlyAsked(data: string, choices: readonly unknown[], view: View): string {
  if (choices.every(choice => isAsked(choice, view))) return data
  const kept = elementSpans(data, 'choices').filter((_, place) => isAsked(choices[place], view))
  return editMembers(data, { choices: `[${kept.map(span => rawText(data, span)).join(',')}]` })
}
