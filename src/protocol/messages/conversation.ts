import { isObject, type JsonObject } from '../../core/ask.ts'
import type { Capabilities } from '../../core/capabilities.ts'
import { textOf } from '../fields.ts'
import { MISSING_RESULT, orphanText, UniqueIds } from '../history.ts'
import { type Exchange, type Inspection, inspect, OpenCalls } from '../inspection.ts'
import { editMembers, elementSpans, rawAt, rawText, root } from '../json.ts'
import { DELETE, SPACE } from '../json-codes.ts'
import { reminder } from '../reminder.ts'
import { blocksOf, blockText, legalId, PLACEHOLDER, systemText } from './content.ts'

/**
 * The short way through a conversation that is as servers want it, as nearly all are; the others are looked through by
 * `Conversation`, which knows what to do about it.
 */
export function isSurelyTidy(messages: readonly JsonObject[]): boolean {
  if (messages[0]?.role !== 'user') return false
  const open = new OpenCalls()
  const ids = new Set<string>()
  for (let place = 0; place < messages.length; place++) {
    const { role, content } = messages[place] as JsonObject
    if (role === 'assistant' ? !open.turn(place) : role !== 'user') return false
    if (typeof content === 'string') {
      if (isBlankText(content)) return false
      continue
    }
    const blocks = content as readonly JsonObject[]
    if (blocks.length === 0) return false
    for (const block of blocks) {
      switch (block.type) {
        case 'text':
          if (isBlank(block)) return false
          break
        case 'thinking':
          if (isUnsigned(block)) return false
          break
        case 'tool_use': {
          const id = idOf(block)
          const isOwn = role === 'assistant' && !ids.has(id) && legalId(id) === id
          if (!isOwn || !open.call(id)) return false
          ids.add(id)
          break
        }
        case 'tool_result':
          if (role !== 'user' || hasBlankPart(block) || !open.answer(idOf(block))) return false
      }
    }
  }
  return open.isEmpty
}

/** What comes behind the system prompt of a request: looked through, and written anew where it has to be. */
export class Conversation {
  private readonly messages: readonly JsonObject[]
  private readonly can: Capabilities
  private readonly inspection: Inspection
  /** Ids of blocks that change; undefined for results that answer nothing. */
  private readonly changed: ReadonlyMap<JsonObject, string | undefined>
  /** The assistant, or nobody at all. */
  private readonly speaksFirst: boolean

  constructor(messages: readonly JsonObject[], can: Capabilities) {
    this.messages = messages
    this.can = can
    const ids = new UniqueIds(legalId)
    this.inspection = inspect(messages.map(exchangeOf), id => ids.next(id))
    this.changed = new Map(messages.flatMap((message, place) => this.changesIn(message, place)))
    this.speaksFirst = messages[0]?.role !== 'user' && messages[0]?.role !== 'system'
  }

  get isTidy(): boolean {
    const isWhole = !this.can.repair || this.inspection.unanswered.size === 0
    return isWhole && !this.speaksFirst && !this.messages.some((message, place) => this.isUntidy(message, place))
  }

  /** The list's text, from the texts of its elements. */
  tidied(raw: readonly string[]): string {
    const opening = this.speaksFirst ? [JSON.stringify({ role: 'user', content: PLACEHOLDER })] : []
    const mended = this.messages.flatMap((message, place) => {
      const tidied = this.tidiedMessage(message, place, raw[place] ?? '{}')
      const missing = this.missingBefore(place)
      return message.role === 'user' ? [withFirst(tidied, missing)] : [...asMessage(missing), tidied]
    })
    const last = asMessage(this.missingBefore(this.messages.length))
    return `[${[...opening, ...mended, ...last].join(',')}]`
  }

  private changesIn(message: JsonObject, place: number): [JsonObject, string | undefined][] {
    const { calls = [], results = [] } = this.inspection.ids[place] ?? {}
    const rename = (blocks: readonly JsonObject[], ids: readonly (string | undefined)[]) =>
      blocks.flatMap((block, index): [JsonObject, string | undefined][] => {
        const id = ids[index] ?? (this.can.repair ? undefined : legalId(idOf(block)))
        return id === idOf(block) ? [] : [[block, id]]
      })
    return [...rename(blocksIn(message, 'tool_use'), calls), ...rename(blocksIn(message, 'tool_result'), results)]
  }

  private tidiedMessage(message: JsonObject, place: number, raw: string): string {
    if (message.role === 'system') {
      if (this.mayStand(place)) return raw
      return JSON.stringify({ role: 'user', content: [{ type: 'text', text: reminder(systemText(message)) }] })
    }
    if (!this.isUntidy(message, place)) return raw
    if (!Array.isArray(message.content)) return editMembers(raw, { content: JSON.stringify(PLACEHOLDER) })
    const blocks = message.content as readonly JsonObject[]
    const kept = rawElements(raw, 'content').flatMap((text, index) => this.tidiedBlock(blocks[index] ?? {}, text))
    const left = kept.length > 0 ? kept : [JSON.stringify({ type: 'text', text: PLACEHOLDER })]
    return editMembers(raw, { content: `[${left.join(',')}]` })
  }

  /** Nothing of a block that says nothing; a result keeps its place even if it is empty. */
  private tidiedBlock(block: JsonObject, raw: string): string[] {
    if (isBlank(block) || isUnsigned(block)) return []
    const isChanged = this.changed.has(block)
    const id = this.changed.get(block)
    if (isChanged && id === undefined) return [orphan(block)]
    const named = isChanged ? editMembers(raw, { [idField(block)]: JSON.stringify(id) }) : raw
    if (!hasBlankPart(block)) return [named]
    const parts = block.content as readonly unknown[]
    const kept = rawElements(named, 'content').filter((_, place) => !isBlank(parts[place]))
    return [editMembers(named, { content: kept.length > 0 ? `[${kept.join(',')}]` : undefined })]
  }

  /** A word of the system may follow a user, and be followed by the assistant or by nobody. */
  private mayStand(place: number): boolean {
    const [before, after] = [this.messages[place - 1]?.role, this.messages[place + 1]?.role]
    return this.can.midSystem && before === 'user' && (after === 'assistant' || after === undefined)
  }

  private isUntidy({ role, content }: JsonObject, place: number): boolean {
    if (role === 'system') return !this.mayStand(place)
    if (!Array.isArray(content)) return typeof content === 'string' && content.trim() === ''
    const isOdd = (block: JsonObject) =>
      isBlank(block) || isUnsigned(block) || hasBlankPart(block) || this.changed.has(block)
    return content.length === 0 || content.some(isOdd)
  }

  /** Results that should have come between a message and the one in front of it. */
  private missingBefore(place: number): string[] {
    const ids = this.can.repair ? this.inspection.unanswered.get(place - 1) : undefined
    return (ids ?? []).map(id => JSON.stringify(missing(id)))
  }
}

/** Blocks that must come before all that the user says. */
function withFirst(message: string, blocks: readonly string[]): string {
  if (blocks.length === 0) return message
  const said = rawAt(message, root(message), 'content') ?? '[]'
  const own = said.startsWith('[') ? rawElements(message, 'content') : [`{"type":"text","text":${said}}`]
  return editMembers(message, { content: `[${[...blocks, ...own].join(',')}]` })
}

const asMessage = (blocks: readonly string[]): string[] =>
  blocks.length > 0 ? [`{"role":"user","content":[${blocks.join(',')}]}`] : []

const exchangeOf = (message: JsonObject): Exchange => ({
  isAssistant: message.role === 'assistant',
  calls: blocksIn(message, 'tool_use').map(idOf),
  results: blocksIn(message, 'tool_result').map(idOf),
})

const blocksIn = ({ content }: JsonObject, type: string): JsonObject[] =>
  Array.isArray(content) ? (content as JsonObject[]).filter(block => block.type === type) : []

const idField = ({ type }: JsonObject): string => (type === 'tool_use' ? 'id' : 'tool_use_id')

const idOf = (block: JsonObject): string => textOf(block[idField(block)])

const orphan = (block: JsonObject): string =>
  JSON.stringify({ type: 'text', text: orphanText(idOf(block), blocksOf(block).map(blockText).join('\n')) })

const missing = (id: string): unknown => ({
  type: 'tool_result',
  tool_use_id: id,
  is_error: true,
  content: MISSING_RESULT,
})

const isBlank = (block: unknown): boolean =>
  isObject(block) && block.type === 'text' && typeof block.text === 'string' && isBlankText(block.text)

/** Most texts begin with a letter: those need no copy without their blanks to be told from nothing. */
function isBlankText(text: string): boolean {
  const first = text.charCodeAt(0)
  return !(first > SPACE && first < DELETE) && text.trim() === ''
}

const isUnsigned = ({ type, signature }: JsonObject): boolean => type === 'thinking' && !signature

const hasBlankPart = ({ type, content }: JsonObject): boolean =>
  type === 'tool_result' && Array.isArray(content) && content.some(isBlank)

/** The texts of the elements of a member that is a list. */
const rawElements = (text: string, key: string): string[] => elementSpans(text, key).map(span => rawText(text, span))
