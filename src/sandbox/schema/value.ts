import { type Fields, isFields } from '../fields.ts'
import { hintFor } from './hint.ts'
import { numberFor } from './number.ts'
import { flatten, type Schema, type Surroundings, textsIn } from './schema.ts'
import { textFor } from './text.ts'

/** What is being filled in: a place in the schema and what to fill it with. */
interface Place extends Surroundings {
  readonly question: string
  readonly property: string
  readonly isTop: boolean
  /** The number of the item in a list whose items must differ, else 0. */
  readonly ordinal: number
}

const STEPS_MAX = 10_000
const ITEMS_MAX = 100

/** More of a question than this is not needed to speak of it. */
const QUESTION_LENGTH_MAX = 2_000

/** An object that satisfies the schema and speaks of the question; empty when no object can. */
export function objectFor(schema: Schema, wholeQuestion: string): Fields {
  const budget = { steps: STEPS_MAX }
  const question = wholeQuestion.slice(-QUESTION_LENGTH_MAX)
  const top = { root: schema, refs: new Set<string>(), budget, question, property: '', isTop: true, ordinal: 0 }
  const value = valueAt({ allOf: [schema, { type: 'object' }] }, top)
  return isFields(value) ? value : {}
}

/** Undefined means that nothing satisfies the schema here; JSON itself has no such value. */
function valueAt(schema: unknown, place: Place): unknown {
  const flat = flatten(schema, place)
  if (flat === undefined) return undefined
  const { keywords } = flat
  const here = { ...place, refs: flat.refs }

  if (keywords.const !== undefined) return keywords.const
  if (Array.isArray(keywords.enum)) return enumValue(keywords.enum, keywords, here)
  if (isOfType(keywords.default, keywords.type)) return keywords.default
  if (Array.isArray(keywords.anyOf)) return alternative('anyOf', keywords.anyOf, keywords, here)
  if (Array.isArray(keywords.oneOf)) return alternative('oneOf', keywords.oneOf, keywords, here)
  return firstValue(possibleTypes(keywords), type => typedValue(type, keywords, here))
}

function enumValue(options: readonly unknown[], keywords: Fields, place: Place): unknown {
  const question = place.question.toLowerCase()
  const fitting = options.filter(option => keywords.type === undefined || isOfType(option, keywords.type))
  if (place.ordinal > 0) return fitting[place.ordinal]

  const mentioned = fitting.find(
    option => typeof option === 'string' && option && question.includes(option.toLowerCase()),
  )
  return mentioned ?? fitting.find(option => option === keywords.default) ?? fitting[0]
}

function alternative(kind: 'anyOf' | 'oneOf', options: readonly unknown[], keywords: Fields, place: Place): unknown {
  const { [kind]: _, ...rest } = keywords
  const isNull = (option: unknown) => isFields(option) && option.type === 'null'
  const nullsLast = options.toSorted((one, other) => Number(isNull(one)) - Number(isNull(other)))
  return firstValue(nullsLast, option => valueAt({ allOf: [rest, option] }, place))
}

function typedValue(type: string, keywords: Fields, place: Place): unknown {
  switch (type) {
    case 'object':
      return objectValue(keywords, place)
    case 'array':
      return arrayValue(keywords, place)
    case 'string':
      return textFor(keywords, hintFor(place.property, place.question), place.ordinal)
    case 'integer':
    case 'number':
      return numberFor(keywords, type, place.ordinal)
    case 'boolean':
      return place.ordinal % 2 === 0
    case 'null':
      return null
    default:
      return undefined
  }
}

function objectValue(keywords: Fields, place: Place): Fields | undefined {
  const properties = isFields(keywords.properties) ? keywords.properties : {}
  const required = new Set(textsIn(keywords.required))
  const entries = new Map<string, unknown>()
  const fill = (name: string): boolean => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : (keywords.additionalProperties ?? {})
    const value = valueAt(schema, { ...place, property: name, isTop: false, ordinal: 0 })
    if (value !== undefined) entries.set(name, value)
    return value !== undefined
  }

  for (const name of required) if (!fill(name)) return undefined
  for (const name of optionalNames(keywords, place.isTop && required.size === 0)) {
    if (!entries.has(name)) fill(name)
  }
  return Object.fromEntries(entries)
}

/** Optional properties are left out, unless there would be nothing or too little to see. */
function optionalNames(keywords: Fields, isBare: boolean): readonly string[] {
  const declared = isFields(keywords.properties) ? Object.keys(keywords.properties) : []
  const least = itemCount(keywords.minProperties, 0)
  const isOpen = keywords.additionalProperties === true || isFields(keywords.additionalProperties)
  if (isBare && declared.length === 0 && isOpen) return ['answer', ...extraNames(least - 1)]
  if (isBare || least > textsIn(keywords.required).length) return [...declared, ...extraNames(least - declared.length)]
  return []
}

function extraNames(count: number): readonly string[] {
  return Array.from({ length: Math.max(0, count) }, (_, at) => `extra_${at + 1}`)
}

function arrayValue(keywords: Fields, place: Place): readonly unknown[] | undefined {
  const { prefixItems, items, additionalItems, uniqueItems } = keywords
  // Before `prefixItems` existed, a list of schemas stood in `items`.
  const [first, others] = Array.isArray(items) ? [items, additionalItems] : [prefixItems, items]
  const prefix = Array.isArray(first) ? first : []
  const least = itemCount(keywords.minItems, 0)
  const wanted = Math.min(Math.max(least, prefix.length, 1), itemCount(keywords.maxItems, ITEMS_MAX))

  const list: unknown[] = []
  while (list.length < wanted) {
    const ordinal = uniqueItems === true ? list.length : 0
    const item = valueAt(prefix[list.length] ?? others ?? {}, { ...place, isTop: false, ordinal })
    if (item === undefined) break
    list.push(item)
  }
  return list.length < least ? undefined : list
}

function itemCount(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.floor(value), ITEMS_MAX) : otherwise
}

function possibleTypes(keywords: Fields): readonly string[] {
  const types = keywords.type === undefined ? [impliedType(keywords)] : textsIn(keywords.type)
  return types.toSorted((one, other) => Number(one === 'null') - Number(other === 'null'))
}

function impliedType(keywords: Fields): string {
  const has = (...names: string[]) => names.some(name => keywords[name] !== undefined)
  if (has('properties', 'required', 'additionalProperties', 'minProperties')) return 'object'
  if (has('items', 'prefixItems', 'minItems', 'maxItems')) return 'array'
  return has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf') ? 'number' : 'string'
}

function isOfType(value: unknown, type: unknown): boolean {
  if (value === undefined) return false
  return type === undefined || textsIn(type).some(each => TYPE_CHECKS.get(each)?.(value))
}

const TYPE_CHECKS = new Map<string, (value: unknown) => boolean>([
  ['object', isFields],
  ['array', Array.isArray],
  ['string', value => typeof value === 'string'],
  ['integer', Number.isInteger],
  ['number', value => typeof value === 'number'],
  ['boolean', value => typeof value === 'boolean'],
  ['null', value => value === null],
])

function firstValue<T>(options: readonly T[], make: (option: T) => unknown): unknown {
  for (const option of options) {
    const value = make(option)
    if (value !== undefined) return value
  }
  return undefined
}
