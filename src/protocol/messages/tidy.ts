import { type Ask, isObject, type JsonObject } from '../../core/ask.ts'
import type { Capabilities } from '../../core/capabilities.ts'
import type { Source } from '../../core/source.ts'
import { type MemberEdits, rawText, sourceElements } from '../json.ts'
import { systemText } from './content.ts'
import { Conversation, isSurelyTidy } from './conversation.ts'

/**
 * Requests that the contract allows and servers of this dialect refuse: texts with nothing in them, system messages
 * where they may not stand, an assistant who speaks first, thoughts without the signature that only their own vendor can
 * give, calls and results that have lost each other. They are mended message by message; a request without any of this
 * keeps its text.
 */
export function tidyRequest({ body, source }: Ask, can: Capabilities): MemberEdits {
  const all = body.messages as readonly JsonObject[]
  if (isSurelyTidy(all)) return tidySystem(body.system, [], source)
  const isKept = all.map(message => !isBlankSystem(message))
  const messages = all.filter((_, place) => isKept[place])
  // The leading run is the system prompt; a conversation may not be empty, so a lone system message is what is asked.
  const firstOther = messages.findIndex(({ role }) => role !== 'system')
  const leading = Math.max(0, firstOther === -1 ? messages.length - 1 : firstOther)
  const rest = new Conversation(messages.slice(leading), can)
  const system = tidySystem(body.system, messages.slice(0, leading), source)
  if (messages.length - leading === all.length && rest.isTidy) return system
  const raw = rawOf(source, 'messages').filter((_, place) => isKept[place])
  return { ...system, messages: rest.tidied(raw.slice(leading)) }
}

const isBlankSystem = (message: JsonObject): boolean => message.role === 'system' && systemText(message).trim() === ''

function tidySystem(system: unknown, leading: readonly JsonObject[], source: Source): MemberEdits {
  const blocks = Array.isArray(system) ? system : []
  const isBlank = (block: unknown) => isObject(block) && typeof block.text === 'string' && block.text.trim() === ''
  const isSilent = typeof system === 'string' && system.trim() === ''
  const isTidy = leading.length === 0 && !blocks.some(isBlank) && !isSilent
  if (isTidy) return {}
  const said = leading.map(systemText)
  if (!Array.isArray(system)) {
    const whole = [system, ...said].filter(part => typeof part === 'string' && part.trim() !== '').join('\n\n')
    return { system: whole === '' ? undefined : JSON.stringify(whole) }
  }
  const kept = rawOf(source, 'system').filter((_, place) => !isBlank(blocks[place]))
  const all = [...kept, ...said.map(part => JSON.stringify({ type: 'text', text: part }))]
  return { system: all.length === 0 ? undefined : `[${all.join(',')}]` }
}

const rawOf = (source: Source, key: string): string[] =>
  sourceElements(source, key).map(span => rawText(source.text, span))
