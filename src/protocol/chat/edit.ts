import { type Ask, isObject, type JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import { honestReason, parseAnswer } from '../answer.ts'
import { editMembers, editMessages, jsonMembers, type MemberEdits, rawAt, rawObject, rawText, root } from '../json.ts'
import { JsonOnly } from '../json-mode.ts'
import type { Answer, EditedRequest, Target, View } from '../protocol.ts'
import { withhold } from '../withhold.ts'
import { eachCall, eachChoice, isAsked, onlyAsked } from './each.ts'
import { mendWholeCall } from './mend-calls.ts'
import { mendTexts } from './mend-texts.ts'
import { repairRequest } from './repair.ts'
import { firstChoice, saidIn } from './response.ts'
import { spokenText } from './texts.ts'
import { FINISH_REASONS, readFinishReason, readUsage, writeUsage } from './wire.ts'

/** Like pairs: what the other side wrote, with the named edits and nothing else. */

// ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The caller's own text with the named edits; everything else is forwarded as it came. */
export function editRequest(ask: Ask, target: Target): EditedRequest {
  const { capabilities: can } = target
  const known = can.developerRole ? ask.text : withoutDevelopers(ask)
  const { edits, dropped } = withhold(ask.body, target)
  const body = editMembers(can.repair ? repairRequest({ body: ask.body, text: known }) : known, {
    ...edits,
    ...usageEdits(ask, can.streamUsage),
    ...limitEdits(ask, target),
    model: JSON.stringify(target.model),
  })
  return { body, dropped }
}

/** The bill needs the upstream's own count, whether the caller wants to see it or not. */
function usageEdits({ stream, includeUsage, text }: Ask, isCounting: boolean): MemberEdits {
  if (!stream || (includeUsage && isCounting)) return {}
  if (!isCounting) return { stream_options: undefined }
  const options = rawAt(text, root(text), 'stream_options')
  return { stream_options: editMembers(options?.startsWith('{') ? options : '{}', { include_usage: 'true' }) }
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
  const { maxTokensField } = target.capabilities
  const unused = maxTokensField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  const isInPlace = asked === target.maxTokens && (body[unused] === undefined || body[unused] === null)
  if (isInPlace) return {}
  return { [unused]: undefined, [maxTokensField]: target.maxTokens && String(target.maxTokens) } as MemberEdits
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
  return {
    seen,
    render: bill =>
      editMembers(mendBody(text, body.choices as unknown[], view), {
        id: JSON.stringify(`chatcmpl-${view.id}`),
        model: JSON.stringify(view.model),
        usage: editMembers(rawObject(text, 'usage'), jsonMembers(writeUsage(bill))),
      }),
  }
}

/** The contract: a call is a `tool_calls` ending, and its arguments are JSON, whatever the vendor says. */
function mendBody(text: string, all: readonly unknown[], view: View): string {
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

/** The contract: in JSON mode the content parses, whatever the vendor puts around it. */
function jsonContent({ message, finish_reason }: JsonObject, hasCalls: boolean): MemberEdits {
  const content = isObject(message) ? spokenText(message.content) : ''
  const only = new JsonOnly()
  const json = only.accept(content) + only.rest({ reason: readFinishReason(finish_reason), hasCalls })
  return json === content.trim() ? {} : { content: JSON.stringify(json) }
}
