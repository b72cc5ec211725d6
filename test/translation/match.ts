import type { JsonBody } from '../support/duet.ts'

/** How a value differs from what a case lists, by the fixture's legend; nothing when it matches. */
export function mismatches(expected: JsonBody, actual: JsonBody, path = '$'): readonly string[] {
  if (Array.isArray(expected)) return inList(expected, actual, path)
  if (isRecord(expected)) return inRecord(expected, actual, path)
  return Object.is(expected, actual) ? [] : [`${path} is ${show(actual)}, not ${show(expected)}`]
}

function inList(expected: readonly JsonBody[], actual: JsonBody, path: string): readonly string[] {
  if (!Array.isArray(actual)) return [`${path} is ${show(actual)}, not a list`]
  if (actual.length !== expected.length) {
    return [`${path} has ${actual.length} elements, not ${expected.length}: ${show(actual)}`]
  }
  return expected.flatMap((item, place) =>
    // Among others, `{}` keeps a place; as the value of a member it means an object without members.
    isEmpty(item) ? [] : mismatches(item, actual[place], `${path}[${place}]`),
  )
}

function inRecord(expected: JsonBody, actual: JsonBody, path: string): readonly string[] {
  if (!isRecord(actual)) return [`${path} is ${show(actual)}, not an object`]
  if (isEmpty(expected)) return isEmpty(actual) ? [] : [`${path} is ${show(actual)}, not {}`]
  return Object.entries(expected).flatMap(([key, wanted]) => {
    const property = PROPERTIES[key]
    if (property) return inProperty({ ...property, key, wanted, actual, path })
    const value = expected.role === 'user' && key === 'content' ? asText(actual[key], wanted) : actual[key]
    return mismatches(wanted, value, `${path}.${key}`)
  })
}

/** The legend: a user's content given as a string may equally be one text block. */
function asText(content: JsonBody, wanted: JsonBody): JsonBody {
  const isOneText = Array.isArray(content) && content.length === 1 && content[0]?.type === 'text'
  return typeof wanted === 'string' && isOneText ? content[0].text : content
}

interface Property {
  readonly of: string
  readonly holds: (value: JsonBody, wanted: JsonBody) => boolean
}

/** Members of an expectation that tell a property of another member. */
const PROPERTIES: { readonly [key: string]: Property | undefined } = {
  content_matches: { of: 'content', holds: (content, wanted) => pattern(wanted).test(textOf(content)) },
  text_matches: { of: 'text', holds: (text, wanted) => pattern(wanted).test(textOf(text)) },
  content_nonempty: { of: 'content', holds: (content, wanted) => isSaying(content) === wanted },
  content_type: { of: 'content', holds: (content, wanted) => typeOf(content) === wanted },
  input_type: { of: 'input', holds: (input, wanted) => typeOf(input) === wanted },
}

interface PropertyCheck extends Property {
  readonly key: string
  readonly wanted: JsonBody
  readonly actual: JsonBody
  readonly path: string
}

function inProperty({ of, holds, key, wanted, actual, path }: PropertyCheck): readonly string[] {
  const value = actual[of]
  return holds(value, wanted) ? [] : [`${path}.${of} is ${show(value)}, against ${key} ${show(wanted)}`]
}

/** A leading `(?s)` is what JavaScript writes as a flag. */
function pattern(source: string): RegExp {
  return source.startsWith('(?s)') ? new RegExp(source.slice(4), 's') : new RegExp(source)
}

function textOf(content: JsonBody): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map(({ text }) => text ?? '').join('\n') : ''
}

/** Neither nothing nor a text without words, of which strict servers refuse both. */
function isSaying(content: JsonBody): boolean {
  if (typeof content === 'string') return content.trim() !== ''
  if (!Array.isArray(content) || content.length === 0) return false
  return content.every(({ type, text }) => type !== 'text' || text.trim() !== '')
}

function typeOf(value: JsonBody): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** What stands at a path such as `tools[].name` or `messages[?role=user]`; a remark in brackets behind it is for readers. */
export function foundAt(path: string, value: JsonBody): readonly JsonBody[] {
  const steps = path.replace(/ \(.*\)$/, '').match(/[^.[\]]+|\[[^\]]*\]/g) ?? []
  return steps.reduce<readonly JsonBody[]>((values, step) => values.flatMap(each => taken(each, step)), [value])
}

function taken(value: JsonBody, step: string): readonly JsonBody[] {
  if (!step.startsWith('[')) return isRecord(value) && step in value ? [value[step]] : []
  if (!Array.isArray(value)) return []
  const inside = step.slice(1, -1)
  if (inside === '') return value
  const [, key, wanted] = /^\?(\w+)=(.*)$/.exec(inside) ?? []
  if (key !== undefined) return value.filter(item => item?.[key] === wanted)
  return value.slice(Number(inside), Number(inside) + 1)
}

function isRecord(value: JsonBody): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEmpty(value: JsonBody): boolean {
  return isRecord(value) && Object.keys(value).length === 0
}

function show(value: JsonBody): string {
  return JSON.stringify(value) ?? 'absent'
}
