import type { Ask, JsonObject } from '../../core/ask.ts'
import { flatText } from '../answer.ts'
import { textOf } from '../fields.ts'
import { MISSING_RESULT, orphanText } from '../history.ts'
import { type Exchange, inspect } from '../inspection.ts'
import { editMessages, rawText } from '../json.ts'

/** The caller's text, with results made up for calls that have none, and results that answer nothing made plain words. */
export function repairRequest({ body, text }: Pick<Ask, 'body' | 'text'>): string {
  const messages = body.messages as readonly JsonObject[]
  const { ids, unanswered } = inspect(messages.map(exchangeOf), id => id)
  const isOrphan = (place: number) => ids[place]?.results.includes(undefined) === true
  if (unanswered.size === 0 && !messages.some((_, place) => isOrphan(place))) return text
  return editMessages(text, (place, span) => {
    const own = isOrphan(place) ? orphan(messages[place] ?? {}) : rawText(text, span)
    return [own, ...(unanswered.get(place) ?? []).map(missing)].join(',')
  })
}

const exchangeOf = ({ role, tool_calls, tool_call_id }: JsonObject): Exchange => ({
  isAssistant: role === 'assistant',
  calls: role === 'assistant' ? ((tool_calls ?? []) as JsonObject[]).map(({ id }) => textOf(id)) : [],
  results: role === 'tool' ? [textOf(tool_call_id)] : [],
})

const orphan = ({ tool_call_id: id, content }: JsonObject): string =>
  JSON.stringify({ role: 'user', content: orphanText(textOf(id), flatText(content)) })

const missing = (id: string): string =>
  JSON.stringify({ role: 'tool', tool_call_id: id, content: `Error: ${MISSING_RESULT}` })
