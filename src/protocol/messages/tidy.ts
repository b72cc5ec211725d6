import { type Ask, isObject, type JsonObject } from '../../core/ask.ts'
import { editMembers, elements, type MemberEdits, member, rawText, root } from '../json.ts'
import { encodeReminder, PLACEHOLDER, systemText } from './request.ts'

/**
 * Requests that the contract allows and servers of this dialect refuse: texts with nothing in them, system messages
 * among the others, an assistant who speaks first, thoughts without the signature that only their own vendor can give.
 * They are mended message by message; a request without any of this keeps its text.
 */
export function tidyRequest({ body, text }: Ask): MemberEdits {
  const messages = body.messages as readonly JsonObject[]
  // The leading run is the system prompt; a conversation may not be empty, so a lone system message is what is asked.
  const firstOther = messages.findIndex(({ role }) => role !== 'system')
  const leading = firstOther === -1 ? messages.length - 1 : firstOther
  return { ...tidySystem(body.system, messages.slice(0, leading), text), ...tidyMessages(messages, leading, text) }
}

function tidySystem(system: unknown, leading: readonly JsonObject[], text: string): MemberEdits {
  const blocks = Array.isArray(system) ? system : []
  const isTidy = leading.length === 0 && !blocks.some(isBlank) && system !== ''
  if (isTidy) return {}
  const said = leading.map(systemText)
  if (!Array.isArray(system)) {
    const whole = [system, ...said].filter(part => typeof part === 'string' && part.trim() !== '').join('\n\n')
    return { system: whole === '' ? undefined : JSON.stringify(whole) }
  }
  const kept = elementsOf(text, 'system').filter((_, place) => !isBlank(blocks[place]))
  const all = [...kept, ...said.map(part => JSON.stringify({ type: 'text', text: part }))]
  return { system: all.length === 0 ? undefined : `[${all.join(',')}]` }
}

function tidyMessages(messages: readonly JsonObject[], leading: number, text: string): MemberEdits {
  const speaksFirst = messages[leading]?.role === 'assistant'
  if (leading === 0 && !speaksFirst && !messages.some(isUntidy)) return {}
  const raw = elementsOf(text, 'messages')
  const tidied = messages.slice(leading).map((message, place) => tidyMessage(message, raw[leading + place] ?? '{}'))
  const opening = speaksFirst ? [JSON.stringify({ role: 'user', content: PLACEHOLDER })] : []
  return { messages: `[${[...opening, ...tidied].join(',')}]` }
}

function tidyMessage(message: JsonObject, raw: string): string {
  if (message.role === 'system') return JSON.stringify(encodeReminder(systemText(message)))
  if (!isUntidy(message)) return raw
  if (!Array.isArray(message.content)) return editMembers(raw, { content: JSON.stringify(PLACEHOLDER) })
  const blocks = message.content as readonly JsonObject[]
  const kept = elementsOf(raw, 'content').flatMap((block, place) => tidyBlock(blocks[place] ?? {}, block))
  const left = kept.length > 0 ? kept : [JSON.stringify({ type: 'text', text: PLACEHOLDER })]
  return editMembers(raw, { content: `[${left.join(',')}]` })
}

/** Nothing of a block that says nothing; a result keeps its place even if it is empty. */
function tidyBlock(block: JsonObject, raw: string): string[] {
  if (isBlank(block) || isUnsigned(block)) return []
  if (!hasBlankPart(block)) return [raw]
  const parts = block.content as readonly unknown[]
  const kept = elementsOf(raw, 'content').filter((_, place) => !isBlank(parts[place]))
  return [editMembers(raw, { content: kept.length > 0 ? `[${kept.join(',')}]` : undefined })]
}

function isUntidy({ role, content }: JsonObject): boolean {
  if (role === 'system') return true
  if (!Array.isArray(content)) return typeof content === 'string' && content.trim() === ''
  return content.length === 0 || content.some(block => isBlank(block) || isUnsigned(block) || hasBlankPart(block))
}

const isBlank = (block: unknown): boolean =>
  isObject(block) && block.type === 'text' && typeof block.text === 'string' && block.text.trim() === ''

const isUnsigned = (block: unknown): boolean => isObject(block) && block.type === 'thinking' && !block.signature

const hasBlankPart = (block: unknown): boolean =>
  isObject(block) && block.type === 'tool_result' && Array.isArray(block.content) && block.content.some(isBlank)

/** The texts of the elements of a member that is a list. */
function elementsOf(text: string, key: string): string[] {
  const list = member(text, root(text), key)
  return list ? elements(text, list.start).map(span => rawText(text, span)) : []
}
