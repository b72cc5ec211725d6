import type { Ask, JsonObject } from '../../core/ask.ts'
import type { Capabilities } from '../../core/capabilities.ts'
import { flatText } from '../answer.ts'
import { textOf } from '../fields.ts'
import { MISSING_RESULT, orphanText } from '../history.ts'
import { type Exchange, type Inspection, inspect, OpenCalls } from '../inspection.ts'
import { editedMessages, editMembers } from '../json.ts'

/**
 * The caller's messages as a like upstream takes them: the newer name of a role by its older one, results made up for
 * calls that have none, and results that answer nothing made plain words. Undefined where nothing of this is needed.
 */
export function mendedMessages({ body, source }: Pick<Ask, 'body' | 'source'>, can: Capabilities): string | undefined {
  const messages = body.messages as readonly JsonObject[]
  const isRenamed = (place: number) => !can.developerRole && messages[place]?.role === 'developer'
  const broken = can.repair ? inspected(messages) : undefined
  if (!broken && (can.developerRole || !messages.some((_, place) => isRenamed(place)))) return undefined
  return editedMessages(source, (place, raw) => {
    const own = isRenamed(place) ? editMembers(raw, { role: '"system"' }) : raw
    if (!broken) return own
    const kept = isOrphan(broken, place) ? orphan(messages[place] ?? {}) : own
    return [kept, ...(broken.unanswered.get(place) ?? []).map(missing)].join(',')
  })
}

/** Undefined for a conversation whose calls and results have all found each other. */
function inspected(messages: readonly JsonObject[]): Inspection | undefined {
  if (isWhole(messages)) return undefined
  const inspection = inspect(messages.map(exchangeOf), id => id)
  const isBroken = inspection.unanswered.size > 0 || messages.some((_, place) => isOrphan(inspection, place))
  return isBroken ? inspection : undefined
}

function isWhole(messages: readonly JsonObject[]): boolean {
  const open = new OpenCalls()
  for (let place = 0; place < messages.length; place++) {
    const { role, tool_calls: calls, tool_call_id: answered } = messages[place] as JsonObject
    if (role === 'assistant') {
      if (!open.turn(place)) return false
      for (const { id } of (calls ?? []) as JsonObject[]) if (!open.call(textOf(id))) return false
    } else if (role === 'tool' && !open.answer(textOf(answered))) return false
  }
  return open.isEmpty
}

const isOrphan = ({ ids }: Inspection, place: number): boolean => ids[place]?.results.includes(undefined) === true

const exchangeOf = ({ role, tool_calls, tool_call_id }: JsonObject): Exchange => ({
  isAssistant: role === 'assistant',
  calls: role === 'assistant' ? ((tool_calls ?? []) as JsonObject[]).map(({ id }) => textOf(id)) : [],
  results: role === 'tool' ? [textOf(tool_call_id)] : [],
})

const orphan = ({ tool_call_id: id, content }: JsonObject): string =>
  JSON.stringify({ role: 'user', content: orphanText(textOf(id), flatText(content)) })

const missing = (id: string): string =>
  JSON.stringify({ role: 'tool', tool_call_id: id, content: `Error: ${MISSING_RESULT}` })
