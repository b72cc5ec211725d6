import type { Ask, JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import { honestReason, parseAnswer } from '../answer.ts'
import { editMembers, jsonMembers, type MemberEdits, rawObject, rawText } from '../json.ts'
import type { Answer, EditedRequest, Target, View } from '../protocol.ts'
import { withhold } from '../withhold.ts'
import { isThinking } from './content.ts'
import { contentOf, contentSpans, decodeBody, EMPTY_TEXT } from './response.ts'
import { fittedBudget } from './thinking.ts'
import { tidyRequest } from './tidy.ts'
import { readStopReason, readUsage, STOP_REASONS, writeUsage } from './wire.ts'

/** Like pairs: what the other side wrote, with the named edits and nothing else. */

// ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The caller's own text with the named edits; everything else is forwarded as it came. */
export function editRequest(ask: Ask, target: Target): EditedRequest {
  const { edits, dropped } = withhold(ask.body, target)
  const lowered = limitEdits(ask, target)
  const body = editMembers(ask.text, {
    ...edits,
    ...tidyRequest(ask, target.capabilities),
    ...lowered,
    model: JSON.stringify(target.model),
  })
  const isThoughtless = 'thinking' in lowered && lowered.thinking === undefined
  return { body, dropped: isThoughtless ? [...dropped, 'thinking'] : dropped }
}

function limitEdits(ask: Ask, { maxTokens: limit = ask.maxTokens }: Target): MemberEdits {
  if (limit === undefined || limit === ask.maxTokens) return {}
  return { max_tokens: String(limit), ...fittedBudget(ask, limit) }
}

// ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The upstream's own text with the named edits: id, model, the bill, and no thinking that nobody asked for. */
export function editBody(text: string, view: View): Answer {
  const body = parseAnswer(text)
  const content = contentOf(body)
  const seen = new Seen()
  seen.reason = readStopReason(body.stop_reason) ?? 'stop'
  const usage = readUsage(body.usage)
  if (usage) seen.count(usage, true)
  if (!usage?.output) for (const event of decodeBody(text)) if (event.type === 'delta') seen.event(event)
  const isShown = (block: JsonObject | undefined) => view.showThinking || !isThinking(block)
  const shown = content.length > 0 && content.every(isShown) ? {} : { content: onlyShown(text, content, isShown) }
  // The contract: a call is a `tool_use` ending, whatever the vendor says.
  const hasCalls = content.some(({ type }) => type === 'tool_use')
  const honest = honestReason(seen.reason, hasCalls)
  const isHonest = readStopReason(body.stop_reason) === honest
  const ending = isHonest ? {} : jsonMembers({ stop_reason: STOP_REASONS[honest] })
  return {
    seen,
    render: bill =>
      editMembers(text, {
        ...shown,
        ...ending,
        id: JSON.stringify(view.id),
        model: JSON.stringify(view.model),
        usage: editMembers(rawObject(text, 'usage'), jsonMembers(writeUsage(bill))),
      }),
  }
}

/** An answer has at least one block, even if it says nothing. */
function onlyShown(text: string, content: readonly JsonObject[], isShown: (block?: JsonObject) => boolean): string {
  const kept = contentSpans(text).filter((_, place) => isShown(content[place]))
  return `[${kept.length > 0 ? kept.map(span => rawText(text, span)).join(',') : JSON.stringify(EMPTY_TEXT)}]`
}
