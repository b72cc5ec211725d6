import type { Ask, JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import { honestReason, parseAnswer } from '../answer.ts'
import { editedRequest } from '../edited.ts'
import { jsonMembers, type MemberEdits, rawText, TextSource, withValues } from '../json.ts'
import type { Answer, Bill, EditedRequest, Target, View } from '../protocol.ts'
import { type RequestChanges, withhold } from '../withhold.ts'
import { isThinking } from './content.ts'
import { contentOf, contentSpans, decodeBody, EMPTY_TEXT } from './response.ts'
import { fittedBudget } from './thinking.ts'
import { tidyRequest } from './tidy.ts'
import { readStopReason, readUsage, STOP_REASONS, writeUsage } from './wire.ts'

/** Like pairs: what the other side wrote, with the named edits and nothing else. */

// ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The caller's own text with the named edits; everything else is forwarded as it came. */
export function editRequest(ask: Ask, target: Target): EditedRequest {
  const { changes, dropped } = withhold(ask.body, target)
  change(changes, tidyRequest(ask, target.capabilities))
  const { maxTokens: limit = ask.maxTokens } = target
  if (limit !== undefined && limit !== ask.maxTokens) {
    const budget = fittedBudget(ask, limit)
    if ('thinking' in budget && budget.thinking === undefined) dropped.push('thinking')
    change(changes, { max_tokens: String(limit), ...budget })
  }
  changes.set('model', JSON.stringify(target.model))
  return editedRequest(ask.source.edited(changes), dropped)
}

function change(changes: RequestChanges, edits: MemberEdits): void {
  for (const key in edits) changes.set(key, edits[key])
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
  const edits = { ...shown, ...ending }
  return { seen, render: bill => billedBody({ text, usage: body.usage, edits }, view, bill) }
}

interface Billed {
  readonly text: string
  readonly usage: unknown
  readonly edits: MemberEdits
}

function billedBody({ text, usage, edits }: Billed, view: View, bill: Bill): string {
  const source = new TextSource(text)
  const changes: RequestChanges = new Map()
  change(changes, edits)
  changes.set('id', JSON.stringify(view.id))
  changes.set('model', JSON.stringify(view.model))
  changes.set('usage', withValues(source, { key: 'usage', value: usage }, writeUsage(bill)))
  return source.edited(changes)
}

/** An answer has at least one block, even if it says nothing. */
function onlyShown(text: string, content: readonly JsonObject[], isShown: (block?: JsonObject) => boolean): string {
  const kept = contentSpans(text).filter((_, place) => isShown(content[place]))
  return `[${kept.length > 0 ? kept.map(span => rawText(text, span)).join(',') : JSON.stringify(EMPTY_TEXT)}]`
}
