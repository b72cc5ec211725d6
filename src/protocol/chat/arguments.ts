import { isObject, type JsonObject } from '../../core/ask.ts'
import { parseAnswer } from '../answer.ts'
import { applyEdits, type Edit, rawAt, valueSpan } from '../json.ts'

/**
 * Some vendors send the arguments of a call as an object where the dialect has JSON text. The text of that object is what
 * they meant: its digits and the order of its keys.
 */

/** No string can hold this: in there, the quotes would be escaped. */
const OBJECT_ARGUMENTS = /"arguments"\s*:\s*(?=\{)/g

/** A whole answer, or a chunk of one, with text for arguments. */
export function parseWithText(data: string): JsonObject {
  const answer = parseAnswer(data)
  const edits = [...data.matchAll(OBJECT_ARGUMENTS)].map(({ 0: found, index }): Edit => {
    const span = valueSpan(data, index + found.length)
    return { ...span, text: JSON.stringify(data.slice(span.start, span.end)) }
  })
  return edits.length === 0 ? answer : parseAnswer(applyEdits(data, outermost(edits)))
}

/** Arguments may have a member of that name. */
function outermost(edits: readonly Edit[]): Edit[] {
  let end = 0
  return edits.filter(edit => {
    const isOutside = edit.start >= end
    if (isOutside) end = edit.end
    return isOutside
  })
}

/** One call, or a fragment of one, with text for arguments. */
export function callWithText(raw: string, call: JsonObject): JsonObject {
  const { function: made } = call
  if (!isObject(made) || !isObject(made.arguments)) return call
  return { ...call, function: { ...made, arguments: rawAt(raw, 0, 'function', 'arguments') } }
}
