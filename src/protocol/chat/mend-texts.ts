import type { JsonObject } from '../../core/ask.ts'
import { type Piece, piecesOf } from '../answer.ts'
import { jsonMembers, type MemberEdits } from '../json.ts'
import { reasoningText } from './response.ts'

const textOfType = (content: unknown, wanted: Piece['type']): string =>
  piecesOf(content).reduce((text, { type, text: piece }) => (type === wanted ? text + piece : text), '')

/** What the content of a message or a delta says aloud. */
export const spokenText = (content: unknown): string =>
  typeof content === 'string' ? content : textOfType(content, 'text')

/**
 * The texts of a message or a delta in the members where callers look for them: `content` is a string, and what a vendor
 * put among its parts, or under another name, is `reasoning_content` too.
 */
export function mendTexts(said: JsonObject): MemberEdits {
  const isParts = Array.isArray(said.content)
  const reasoning = reasoningText(said) || (isParts ? textOfType(said.content, 'thinking') : '')
  return {
    ...(isParts ? jsonMembers({ content: spokenText(said.content) }) : {}),
    ...(reasoning === '' || said.reasoning_content === reasoning ? {} : jsonMembers({ reasoning_content: reasoning })),
  }
}
