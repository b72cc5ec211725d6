import { isObject, type JsonObject } from '../core/ask.ts'
import type { Schema } from '../core/turn.ts'
import { editMembers } from './json.ts'
import { rawJson } from './raw-json.ts'

export const ANY_OBJECT = schemaOf({ type: 'object', properties: {} })

export function schemaOf(value: JsonObject): Schema {
  return { value, text: JSON.stringify(value) }
}

/** The schema of a tool's input as servers of both dialects want it: of an object, and saying so. */
export function inputSchema({ value, text }: Schema): string {
  const edits = {
    ...(value.type === 'object' ? {} : { type: '"object"' }),
    ...(isObject(value.properties) ? {} : { properties: '{}' }),
  }
  return rawJson(Object.keys(edits).length === 0 ? text : editMembers(text, edits))
}
