import type { JsonObject } from '../core/ask.ts'
import type { Schema } from '../core/turn.ts'
import { rawJson } from './json.ts'

export const ANY_OBJECT = schemaOf({ type: 'object', properties: {} })

export function schemaOf(value: JsonObject): Schema {
  return { value, text: JSON.stringify(value) }
}

/** The schema of a tool's input as servers of both dialects want it: of an object, and saying so. */
export function inputSchema({ value, text }: Schema): unknown {
  const isWhole = value.type === 'object' && typeof value.properties === 'object' && value.properties !== null
  if (isWhole) return rawJson(text)
  return { ...value, type: 'object', properties: value.properties ?? {} }
}
