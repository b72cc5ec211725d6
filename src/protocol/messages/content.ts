import { isObject, type JsonObject } from '../../core/ask.ts'
import { asText, textOf } from '../fields.ts'
import { legalName } from '../names.ts'

/** Neither an empty message nor an empty text is legal in this dialect. */
export const PLACEHOLDER = '.'

/** Ids of calls may be of any length here; only their letters are checked. */
export const legalId = (id: string): string => legalName(id, Number.POSITIVE_INFINITY)

/** The blocks of a message, or of a result, whose content may be a plain string. */
export function blocksOf({ content }: JsonObject): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? (content as JsonObject[]) : []
}

/** The text of blocks that have one: texts, plain documents, search results, loaded tools. */
export function blockText(block: JsonObject): string {
  switch (block.type) {
    case 'tool_reference':
      return `[tool loaded: ${textOf(block.tool_name)}]`
    case 'search_result':
      return titled(block, textsIn(block.content))
    case 'document':
      return titled(block, documentText(isObject(block.source) ? block.source : {}))
    default:
      return asText(block.text) ?? ''
  }
}

function documentText({ type, data, content }: JsonObject): string {
  if (type === 'text') return asText(data) ?? ''
  return type === 'content' ? textsIn(content) : ''
}

function textsIn(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.filter(isObject).map(blockText).join('\n') : ''
}

/** Without a text there is nothing that a title could stand above. */
const titled = ({ title }: JsonObject, text: string): string =>
  text !== '' && typeof title === 'string' ? `${title}\n${text}` : text

export const systemText = (message: JsonObject): string => blocksOf(message).map(blockText).join('\n\n')

export const isThinking = (block: unknown): boolean =>
  isObject(block) && (block.type === 'thinking' || block.type === 'redacted_thinking')
