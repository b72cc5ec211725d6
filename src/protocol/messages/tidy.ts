import { type Ask, isObject, type JsonObject } from '../../core/ask.ts'
import type { Capabilities } from '../../core/capabilities.ts'
import { type Breaks, type Exchange, findBreaks } from '../breaks.ts'
import { MISSING_RESULT, orphanText } from '../history.ts'
import { editMembers, elementSpans, type MemberEdits, rawAt, rawText, root } from '../json.ts'
import { legalName } from '../names.ts'
import { reminder } from '../reminder.ts'
import { blocksOf, blockText, systemText } from './content.ts'
import { PLACEHOLDER } from './encode-request.ts'

/**
 * Requests that the contract allows and servers of this dialect refuse: texts with nothing in them, system messages
 * where they may not stand, an assistant who speaks first, thoughts without the signature that only their own vendor can
 * give, calls and results that have lost each other. They are mended message by message; a request without any of this
 * keeps its text.
 */
export function tidyRequest({ body, text }: Ask, can: Capabilities): MemberEdits {
  const all = body.messages as readonly JsonObject[]
  const isKept = all.map(message => !isBlankSystem(message))
  const messages = all.filter((_, place) => isKept[place])
  // The leading run is the system prompt; a conversation may not be empty, so a lone system message is what is asked.
  const firstOther = messages.findIndex(({ role }) => role !== 'system')
  const leading = Math.max(0, firstOther === -1 ? messages.length - 1 : firstOther)
  const rest = new Conversation(messages.slice(leading), can)
  const system = tidySystem(body.system, messages.slice(0, leading), text)
  if (messages.length - leading === all.length && rest.isTidy) return system
  const raw = rawElements(text, 'messages').filter((_, place) => isKept[place])
  return { ...system, messages: rest.tidied(raw.slice(leading)) }
}

const isBlankSystem = (message: JsonObject): boolean => message.role === 'system' && systemText(message).trim() === ''

function tidySystem(system: unknown, leading: readonly JsonObject[], text: string): MemberEdits {
  const blocks = Array.isArray(system) ? system : []
  const isTidy = leading.length === 0 && !blocks.some(isBlank) && system !== ''
  if (isTidy) return {}
  const said = leading.map(systemText)
  if (!Array.isArray(system)) {
    const whole = [system, ...said].filter(part => typeof part === 'string' && part.trim() !== '').join('\n\n')
    return { system: whole === '' ? undefined : JSON.stringify(whole) }
  }
  const kept = rawElements(text, 'system').filter((_, place) => !isBlank(blocks[place]))
  const all = [...kept, ...said.map(part => JSON.stringify({ type: 'text', text: part }))]
  return { system: all.length === 0 ? undefined : `[${all.join(',')}]` }
}

/** What comes behind the system prompt. */
class Conversation {
  private readonly messages: readonly JsonObject[]
  private readonly can: Capabilities
  private readonly breaks: Breaks | undefined
  /** The assistant, or nobody at all. */
  private readonly speaksFirst: boolean

  constructor(messages: readonly JsonObject[], can: Capabilities) {
    this.messages = messages
    this.can = can
    this.breaks = can.repair ? findBreaks(messages.map(exchangeOf)) : undefined
    this.speaksFirst = messages[0]?.role !== 'user' && messages[0]?.role !== 'system'
  }

  get isTidy(): boolean {
    return !this.speaksFirst && !this.breaks && !this.messages.some((message, place) => this.isUntidy(message, place))
  }

  /** The list's text, from the texts of its elements. */
  tidied(raw: readonly string[]): string {
    const opening = this.speaksFirst ? [JSON.stringify({ role: 'user', content: PLACEHOLDER })] : []
    const mended = this.messages.flatMap((message, place) => {
      const tidied = this.tidiedMessage(message, place, raw[place] ?? '{}')
      const missing = this.missingBefore(place)
      const first =
        message.role === 'user' && missing.length > 0 ? [withFirst(tidied, missing)] : [...asMessage(missing), tidied]
      return place === this.messages.length - 1 ? [...first, ...asMessage(this.missingBefore(place + 1))] : first
    })
    return `[${[...opening, ...mended].join(',')}]`
  }

  private tidiedMessage(message: JsonObject, place: number, raw: string): string {
    if (message.role === 'system') {
      if (this.mayStand(place)) return raw
      return JSON.stringify({ role: 'user', content: [{ type: 'text', text: reminder(systemText(message)) }] })
    }
    if (!this.isUntidy(message, place)) return raw
    if (!Array.isArray(message.content)) return editMembers(raw, { content: JSON.stringify(PLACEHOLDER) })
    const blocks = message.content as readonly JsonObject[]
    const orphans = this.orphansIn(blocks, place)
    const kept = rawElements(raw, 'content').flatMap((text, index) => {
      const block = blocks[index] ?? {}
      return orphans.has(block) ? [orphan(block)] : tidiedBlock(block, text)
    })
    const left = kept.length > 0 ? kept : [JSON.stringify({ type: 'text', text: PLACEHOLDER })]
    return editMembers(raw, { content: `[${left.join(',')}]` })
  }

  /** A word of the system may follow a user, and be followed by the assistant or by nobody. */
  private mayStand(place: number): boolean {
    const [before, after] = [this.messages[place - 1]?.role, this.messages[place + 1]?.role]
    return this.can.midSystem && before === 'user' && (after === 'assistant' || after === undefined)
  }

  private isUntidy({ role, content }: JsonObject, place: number): boolean {
    if (role === 'system') return !this.mayStand(place)
    if (!Array.isArray(content)) return typeof content === 'string' && content.trim() === ''
    if (content.length === 0 || this.breaks?.orphans.has(place)) return true
    return content.some(block => isBlank(block) || isUnsigned(block) || hasBlankPart(block) || hasIllegalId(block))
  }

  private orphansIn(blocks: readonly JsonObject[], place: number): Set<JsonObject> {
    const orphaned = this.breaks?.orphans.get(place)
    return new Set(blocks.filter(isResult).filter((_, index) => orphaned?.has(index)))
  }

  /** Results that should have come between a message and the one in front of it. */
  private missingBefore(place: number): string[] {
    return (this.breaks?.unanswered.get(place - 1) ?? []).map(id => JSON.stringify(missing(id)))
  }
}

/** Blocks that must come before all that the user says. */
function withFirst(message: string, blocks: readonly string[]): string {
  const said = rawAt(message, root(message), 'content') ?? '[]'
  const own = said.startsWith('[') ? rawElements(message, 'content') : [`{"type":"text","text":${said}}`]
  return editMembers(message, { content: `[${[...blocks, ...own].join(',')}]` })
}

const asMessage = (blocks: readonly string[]): string[] =>
  blocks.length > 0 ? [`{"role":"user","content":[${blocks.join(',')}]}`] : []

const exchangeOf = (message: JsonObject): Exchange => {
  const blocks = Array.isArray(message.content) ? (message.content as JsonObject[]) : []
  return {
    isAssistant: message.role === 'assistant',
    calls: blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [String(id)] : [])),
    results: blocks.flatMap(block => (isResult(block) ? [String(block.tool_use_id)] : [])),
  }
}

/** Nothing of a block that says nothing; a result keeps its place even if it is empty. */
function tidiedBlock(block: JsonObject, raw: string): string[] {
  if (isBlank(block) || isUnsigned(block)) return []
  const named = hasIllegalId(block) ? editMembers(raw, legalIds(block)) : raw
  if (!hasBlankPart(block)) return [named]
  const parts = block.content as readonly unknown[]
  const kept = rawElements(named, 'content').filter((_, place) => !isBlank(parts[place]))
  return [editMembers(named, { content: kept.length > 0 ? `[${kept.join(',')}]` : undefined })]
}

const orphan = (block: JsonObject): string =>
  JSON.stringify({
    type: 'text',
    text: orphanText(String(block.tool_use_id), blocksOf(block).map(blockText).join('\n')),
  })

const missing = (id: string): unknown => ({
  type: 'tool_result',
  tool_use_id: legalId(id),
  is_error: true,
  content: MISSING_RESULT,
})

const isResult = ({ type }: JsonObject): boolean => type === 'tool_result'

const isBlank = (block: unknown): boolean =>
  isObject(block) && block.type === 'text' && typeof block.text === 'string' && block.text.trim() === ''

const isUnsigned = (block: unknown): boolean => isObject(block) && block.type === 'thinking' && !block.signature

const hasBlankPart = (block: unknown): boolean =>
  isObject(block) && isResult(block) && Array.isArray(block.content) && block.content.some(isBlank)

/** Ids of other vendors, from a conversation that began elsewhere. */
const legalId = (id: string): string => legalName(id, Number.POSITIVE_INFINITY)

const ID_FIELDS: Readonly<Record<string, string>> = { tool_use: 'id', tool_result: 'tool_use_id' }

function legalIds(block: JsonObject): MemberEdits {
  const field = ID_FIELDS[String(block.type)] ?? 'id'
  return { [field]: JSON.stringify(legalId(String(block[field]))) }
}

function hasIllegalId(block: unknown): boolean {
  const field =
    isObject(block) && Object.hasOwn(ID_FIELDS, String(block.type)) ? ID_FIELDS[String(block.type)] : undefined
  if (!isObject(block) || field === undefined) return false
  return legalId(String(block[field])) !== block[field]
}

/** The texts of the elements of a member that is a list. */
const rawElements = (text: string, key: string): string[] => elementSpans(text, key).map(span => rawText(text, span))
