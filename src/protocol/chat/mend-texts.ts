import type { JsonObject } from '../../core/ask.ts'
import { jsonMembers, type MemberEdits } from '../json.ts'
import { reasoningText, spokenText, thoughtText } from './texts.ts'

/**
 * The texts of a message or a delta in the members where callers look for them: `content` is a string, and what a vendor
 * put among its parts, or under another name, is `reasoning_content` too.
 */
export function mendTexts(said: JsonObject): MemberEdits {
  const isParts = Array.isArray(said.content)
  const reasoning = reasoningText(said) || (isParts ? thoughtText(said.content) : '')
  return {
    ...(isParts ? jsonMembers({ content: spokenText(said.content) }) : {}),
    ...(reasoning === '' || said.reasoning_content === reasoning ? {} : jsonMembers({ reasoning_content: reasoning })),
  }
}
