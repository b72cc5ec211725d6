import { isObject, type JsonObject } from '../../core/ask.ts'
import type { Schema } from '../../core/turn.ts'
import { textOf } from '../fields.ts'
import { rawJson, stringify } from '../raw-json.ts'

/**
 * JSON schemas as this dialect's structured output takes them: it refuses keywords that it cannot enforce, so those
 * become words in the description, where the model still reads them.
 */

/** Keywords that pass as they are. */
const PLAIN = new Set(['type', 'enum', 'const', 'description', 'title', 'required'])
/** Keywords that hold schemas by name, a list of schemas, or one schema. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['properties', 'properties'],
  ['$defs', '$defs'],
  // The older name of the same.
  ['definitions', '$defs'],
])
const LISTED = new Set(['anyOf', 'allOf'])
const SINGLE = new Set(['items'])
const FORMATS = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '))
/** Vendors refuse deeper ones; the limit keeps the recursion from exhausting the stack. */
const DEPTH_MAX = 100

export const sanitizeSchema = ({ text }: Schema): unknown => sanitize(JSON.parse(text, exactNumber), 0)

/** Digits that a number cannot hold are copied, not counted. */
function exactNumber(_: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source ? rawJson(source) : value
}

function sanitize(schema: unknown, depth: number): unknown {
  if (!isObject(schema) || depth > DEPTH_MAX) return schema
  const kept: Record<string, unknown> = {}
  const told: string[] = []
  for (const [key, value] of Object.entries(schema)) {
    const [name, passed] = sanitizeKeyword(key, value, depth)
    if (name !== undefined) keep(kept, name, passed)
    else if (key !== 'additionalProperties' && !key.startsWith('$')) told.push(`${key}: ${stringify(value)}`)
  }
  if (describesObject(schema)) kept.additionalProperties = false
  if (told.length > 0) {
    const said = typeof kept.description === 'string' ? `${kept.description}\n\n` : ''
    kept.description = `${said}{${told.join(', ')}}`
  }
  return kept
}

/** Two keywords may pass under one name: of alternatives both must hold, of definitions both are there. */
function keep(kept: Record<string, unknown>, name: string, value: unknown): void {
  const before = kept[name]
  if (before === undefined) kept[name] = value
  else if (name === 'anyOf') {
    delete kept.anyOf
    keep(kept, 'allOf', [{ anyOf: before }, { anyOf: value }])
  } else if (Array.isArray(before) && Array.isArray(value)) kept[name] = [...before, ...value]
  else if (isObject(before) && isObject(value)) kept[name] = { ...before, ...value }
}

/** The keyword under which a value passes, and the value; no name where it cannot pass. */
function sanitizeKeyword(key: string, value: unknown, depth: number): [string | undefined, unknown] {
  const deeper = (inner: unknown) => sanitize(inner, depth + 1)
  if (PLAIN.has(key)) return [key, value]
  if (SINGLE.has(key) && !Array.isArray(value)) return [key, deeper(value)]
  if (LISTED.has(key) && Array.isArray(value)) return [key, value.map(deeper)]
  if (key === 'oneOf' && Array.isArray(value)) return ['anyOf', value.map(deeper)]
  if (key === '$ref') return [key, textOf(value).replace('#/definitions/', '#/$defs/')]
  if (NAMED.has(key) && isObject(value)) {
    const inner = Object.entries(value).map(([name, schema]) => [name, deeper(schema)])
    return [NAMED.get(key), Object.fromEntries(inner)]
  }
  if (key === 'format' && FORMATS.has(textOf(value))) return [key, value]
  if (key === 'minItems' && (value === 0 || value === 1)) return [key, value]
  return [undefined, undefined]
}

const describesObject = ({ type, properties }: JsonObject): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object')) || (type === undefined && isObject(properties))
