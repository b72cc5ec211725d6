import { type Ask, isObject, type JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import { honestReason, parseAnswer } from '../answer.ts'
import { editedRequest } from '../edited.ts'
import { editMembers, jsonMembers, type MemberEdits, rawObject, sourceText, TextSource, withValues } from '../json.ts'
import { JsonOnly } from '../json-mode.ts'
import type { Answer, Bill, EditedRequest, Target, View } from '../protocol.ts'
import { type RequestChanges, withhold } from '../withhold.ts'
import { eachCall, eachChoice, isAsked, onlyAsked } from './each.ts'
import { mendWholeCall } from './mend-calls.ts'
import { mendTexts } from './mend-texts.ts'
import { mendedMessages } from './repair.ts'
import { firstChoice, saidIn } from './response.ts'
import { spokenText } from './texts.ts'
import { FINISH_REASONS, readFinishReason, readUsage, writeUsage } from './wire.ts'

/** Like pairs: what the other side wrote, with the named edits and nothing else. */

// ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The caller's own text with the named edits; everything else is forwarded as it came. */
export function editRequest(ask: Ask, target: Target): EditedRequest {
  const { changes, dropped } = withhold(ask.body, target)
  const messages = mendedMessages(ask, target.capabilities)
  if (messages !== undefined) changes.set('messages', messages)
  askForUsage(ask, target, changes)
  moveLimit(ask, target, changes)
  changes.set('model', JSON.stringify(target.model))
  return editedRequest(ask.source.edited(changes), dropped)
}

/** The bill needs the upstream's own count, whether the caller wants to see it or not. */
function askForUsage(
  { stream, includeUsage, source }: Ask,
  { capabilities: can }: Target,
  changes: RequestChanges,
): void {
  if (!stream || (includeUsage && can.streamUsage)) return
  if (!can.streamUsage) {
    changes.set('stream_options', undefined)
    return
  }
  const options = sourceText(source, 'stream_options')
  const own = options?.startsWith('{') ? options : '{}'
  changes.set('stream_options', editMembers(own, { include_usage: 'true' }))
}

/** The limit moves only when it has to: to another field, or down to what is held. */
function moveLimit(
  { body, maxTokens: asked }: Ask,
  { maxTokens, capabilities: can }: Target,
  changes: RequestChanges,
): void {
  const unused = can.maxTokensField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  const isInPlace = asked === maxTokens && (body[unused] === undefined || body[unused] === null)
  if (isInPlace) return
  changes.set(unused, undefined)
  changes.set(can.maxTokensField, maxTokens ? String(maxTokens) : undefined)
}

// ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The upstream's own text with the named edits: id, model, the bill, and endings and arguments by the contract. */
export function editBody(text: string, view: View): Answer {
  const body = parseAnswer(text)
  const { reason } = firstChoice(body)
  const seen = new Seen()
  seen.reason = reason
  const usage = readUsage(body.usage)
  if (usage) seen.count(usage, true)
  if (!usage?.output) {
    for (const choice of body.choices as unknown[]) {
      if (isObject(choice) && isObject(choice.message)) seen.text(saidIn(choice.message))
    }
  }
  return { seen, render: bill => billedBody(mendBody(text, body.choices as unknown[], view), body.usage, view, bill) }
}

function billedBody(text: string, usage: unknown, view: View, bill: Bill): string {
  const source = new TextSource(text)
  return source.edited(
    new Map([
      ['id', JSON.stringify(`chatcmpl-${view.id}`)],
      ['model', JSON.stringify(view.model)],
      ['usage', withValues(source, { key: 'usage', value: usage }, writeUsage(bill))],
    ]),
  )
}

/** The contract: a call is a `tool_calls` ending, and its arguments are JSON, whatever the vendor says. */
function mendBody(text: string, all: readonly unknown[], view: View): string {
  // Nearly all answers are, and then there is no need to look through their text.
  if (all.every(choice => isSurelySound(choice, view))) return text
  const choices = all.filter(choice => isAsked(choice, view))
  return eachChoice(onlyAsked(text, all, view), (raw, place) => {
    const choice = choices[place]
    if (!isObject(choice) || !isObject(choice.message)) return {}
    const message = rawObject(raw, 'message')
    const ids = new Set<unknown>()
    const { tool_calls: listed, function_call: legacy } = choice.message
    const hasCalls = (Array.isArray(listed) && listed.length > 0) || isObject(legacy)
    const reason = readFinishReason(choice.finish_reason)
    const honest = honestReason(reason ?? 'stop', hasCalls)
    const edits = {
      ...mendTexts(choice.message),
      ...eachCall(message, choice.message, (raw, call) => mendWholeCall(raw, call, ids)),
      ...(view.wantsJson ? jsonContent(choice, hasCalls) : {}),
    }
    return {
      ...(Object.keys(edits).length === 0 ? {} : { message: editMembers(message, edits) }),
      ...(reason === honest ? {} : jsonMembers({ finish_reason: FINISH_REASONS[honest] })),
    }
  })
}

function isSurelySound(choice: unknown, view: View): boolean {
  if (!isObject(choice) || !isObject(choice.message) || !isAsked(choice, view) || view.wantsJson) return false
  const { content, reasoning, tool_calls: calls, function_call: legacy } = choice.message
  const isPlain = (typeof content === 'string' || content === null) && !reasoning && !calls && !legacy
  const reason = readFinishReason(choice.finish_reason)
  return isPlain && reason === honestReason(reason ?? 'stop', false)
}

/** The contract: in JSON mode the content parses, whatever the vendor puts around it. */
function jsonContent({ message, finish_reason }: JsonObject, hasCalls: boolean): MemberEdits {
  const content = isObject(message) ? spokenText(message.content) : ''
  const only = new JsonOnly()
  const json = only.accept(content) + only.rest({ reason: readFinishReason(finish_reason), hasCalls })
  return json === content.trim() ? {} : { content: JSON.stringify(json) }
}
