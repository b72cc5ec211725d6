import { type Fields, isFields } from '../fields.ts'

export type Schema = Fields | boolean

/** A schema without `$ref` and `allOf`, and the references that were followed to get there. */
export interface FlatSchema {
  readonly keywords: Fields
  readonly refs: ReadonlySet<string>
}

export interface Surroundings {
  readonly root: Schema
  /** References on the way from the root: see `flatten`. */
  readonly refs: ReadonlySet<string>
  readonly budget: Budget
}

/** Bounds the work on schemas that unfold without end, however they are tangled. */
export interface Budget {
  steps: number
}

/** Two lists of alternatives multiply when they are merged. */
const ALTERNATIVES_MAX = 16

/**
 * Undefined when nothing can satisfy the schema on this path. A reference inside itself counts as unsatisfiable:
 * whatever a recursive schema allows, its smallest value needs no reference twice on one path.
 */
export function flatten(schema: unknown, around: Surroundings): FlatSchema | undefined {
  if (schema === false || around.budget.steps-- <= 0) return undefined
  if (!isFields(schema)) return { keywords: {}, refs: around.refs }

  const { $ref, allOf, ...keywords } = schema
  const parts = Array.isArray(allOf) ? [...allOf] : []
  let refs = around.refs
  if (typeof $ref === 'string') {
    if (refs.has($ref)) return undefined
    refs = new Set([...refs, $ref])
    parts.push(referenced($ref, around.root))
  }

  let flat: FlatSchema = { keywords, refs }
  for (const part of parts) {
    const other = flatten(part, { ...around, refs })
    if (other === undefined) return undefined
    flat = { keywords: merge(flat.keywords, other.keywords), refs: flat.refs.union(other.refs) }
  }
  return flat
}

/** Several keywords hold either one text or a list of them. */
export function textsIn(value: unknown): readonly string[] {
  return [value].flat().filter(each => typeof each === 'string')
}

function referenced(ref: string, root: Schema): unknown {
  const [base, ...steps] = ref.split('/')
  if (base !== '#') return {}
  let target: unknown = root
  for (const step of steps) {
    const key = decodePointer(step)
    target = isFields(target) && Object.hasOwn(target, key) ? target[key] : {}
  }
  return target
}

function decodePointer(step: string): string {
  const text = step.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function merge(one: Fields, other: Fields): Fields {
  const shared = Object.keys(other).filter(key => Object.hasOwn(one, key))
  const settled = shared.map(key => [key, (MERGERS.get(key) ?? takeOther)(one[key], other[key])])
  return { ...one, ...other, ...Object.fromEntries(settled) }
}

type Merger = (one: unknown, other: unknown) => unknown

const takeOther: Merger = (_, other) => other
const greater: Merger = (one, other) => (isNumber(one) && isNumber(other) ? Math.max(one, other) : other)
const lesser: Merger = (one, other) => (isNumber(one) && isNumber(other) ? Math.min(one, other) : other)

const union: Merger = (one, other) => [...new Set([one, other].flat())]

const intersection: Merger = (one, other) => {
  const allowed = new Set([other].flat().map(each => JSON.stringify(each)))
  return [one].flat().filter(each => allowed.has(JSON.stringify(each)))
}

const commonTypes: Merger = (one, other) => {
  const [mine, theirs] = [textsIn(one), textsIn(other)]
  const both = mine.filter(type => theirs.includes(type))
  const integer = mine.concat(theirs).includes('integer') && mine.concat(theirs).includes('number')
  return integer && !both.includes('number') ? [...new Set([...both, 'integer'])] : both
}

const bothOfEach: Merger = (one, other) => {
  if (!isFields(one) || !isFields(other)) return other
  const shared = Object.keys(other).filter(key => Object.hasOwn(one, key))
  return { ...one, ...other, ...Object.fromEntries(shared.map(key => [key, { allOf: [one[key], other[key]] }])) }
}

const everyPair: Merger = (one, other) => {
  const [mine, theirs] = [one, other].map(options => [options].flat().slice(0, ALTERNATIVES_MAX))
  return mine?.flatMap(each => theirs?.map(also => ({ allOf: [each, also] })))
}

const MERGERS = new Map<string, Merger>([
  ['type', commonTypes],
  ['enum', intersection],
  ['required', union],
  ['properties', bothOfEach],
  ['anyOf', everyPair],
  ['oneOf', everyPair],
  ...['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'].map(key => [key, greater] as const),
  ...['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'].map(key => [key, lesser] as const),
])

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}
