import type { JsonObject } from '../../core/ask.ts'
import { flatText, type Piece, piecesOf } from '../answer.ts'

/** Vendors disagree on the name; where both are given they hold the same. */
export const reasoningText = ({ reasoning_content, reasoning }: JsonObject): string =>
  flatText(reasoning_content) || flatText(reasoning)

/** What the content of a message or a delta says aloud. */
export const spokenText = (content: unknown): string =>
  typeof content === 'string' ? content : textOfType(content, 'text')

/** What stands as thoughts among the parts of a content. */
export const thoughtText = (content: unknown): string =>
  typeof content === 'string' ? '' : textOfType(content, 'thinking')

const textOfType = (content: unknown, wanted: Piece['type']): string =>
  piecesOf(content).reduce((text, { type, text: piece }) => (type === wanted ? text + piece : text), '')
