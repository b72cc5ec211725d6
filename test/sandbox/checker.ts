import type { Json, JsonObject } from './support.ts'

/** Says what is wrong with a value under a JSON schema, path by path; only the keywords that the tests use. */
export function faultsOf(value: Json, schema: Json, root: Json = schema, path = '$'): readonly string[] {
  if (schema === true) return []
  if (schema === false) return [`${path}: nothing is allowed here`]
  if (!isObject(schema)) throw new Error(`${path}: not a schema`)

  const inside = (part: Json, member: Json, name: string) => faultsOf(member, part, root, `${path}.${name}`)
  const here = (part: Json) => faultsOf(value, part, root, path)
  const fault = (keyword: string, holds: boolean) => (holds ? [] : [`${path}: ${keyword} ${JSON.stringify(value)}`])
  const fitting = (options: Json) => listOf(options).filter(option => here(option).length === 0).length

  return Object.entries(schema).flatMap(([keyword, want]): readonly string[] => {
    switch (keyword) {
      case 'type':
        return fault(
          keyword,
          [want].flat().some(type => hasType(value, type)),
        )
      case 'const':
        return fault(keyword, Bun.deepEquals(value, want))
      case 'enum':
        return fault(
          keyword,
          listOf(want).some(option => Bun.deepEquals(value, option)),
        )
      case '$ref':
        return here(resolve(String(want), root))
      case 'allOf':
        return listOf(want).flatMap(here)
      case 'anyOf':
        return fault(keyword, fitting(want) > 0)
      case 'oneOf':
        return fault(keyword, fitting(want) === 1)
      case 'minimum':
        return fault(keyword, typeof value !== 'number' || value >= Number(want))
      case 'maximum':
        return fault(keyword, typeof value !== 'number' || value <= Number(want))
      case 'exclusiveMinimum':
        return fault(keyword, typeof value !== 'number' || value > Number(want))
      case 'exclusiveMaximum':
        return fault(keyword, typeof value !== 'number' || value < Number(want))
      case 'multipleOf':
        return fault(
          keyword,
          typeof value !== 'number' || Math.abs(Math.round(value / Number(want)) - value / Number(want)) < 1e-9,
        )
      case 'minLength':
        return fault(keyword, typeof value !== 'string' || [...value].length >= Number(want))
      case 'maxLength':
        return fault(keyword, typeof value !== 'string' || [...value].length <= Number(want))
      case 'pattern':
        return fault(keyword, typeof value !== 'string' || new RegExp(String(want), 'u').test(value))
      case 'format':
        return fault(keyword, typeof value !== 'string' || FORMATS[String(want)]?.test(value) === true)
      case 'minItems':
        return fault(keyword, !Array.isArray(value) || value.length >= Number(want))
      case 'maxItems':
        return fault(keyword, !Array.isArray(value) || value.length <= Number(want))
      case 'uniqueItems':
        return fault(
          keyword,
          !Array.isArray(value) || new Set(value.map(item => JSON.stringify(item))).size === value.length,
        )
      case 'prefixItems':
        return Array.isArray(value)
          ? listOf(want).flatMap((part, at) => value.slice(at, at + 1).flatMap(item => inside(part, item, `${at}`)))
          : []
      case 'items':
        return Array.isArray(value)
          ? value.slice(listOf(schema.prefixItems ?? []).length).flatMap((item, at) => inside(want, item, `${at}`))
          : []
      case 'required':
        return isObject(value)
          ? listOf(want).flatMap(name => (String(name) in value ? [] : [`${path}: lacks ${name}`]))
          : []
      case 'properties':
        return isObject(value) && isObject(want)
          ? Object.entries(value).flatMap(([name, member]) => inside(want[name] ?? true, member, name))
          : []
      case 'additionalProperties':
        return isObject(value)
          ? Object.entries(value).flatMap(([name, member]) =>
              isDeclared(name, schema) ? [] : inside(want, member, name),
            )
          : []
      case 'minProperties':
        return fault(keyword, !isObject(value) || Object.keys(value).length >= Number(want))
      default:
        return IGNORED.has(keyword) ? [] : [`${path}: the checker does not know ${keyword}`]
    }
  })
}

const IGNORED = new Set(['$defs', 'definitions', 'description', 'title', 'default', '$schema'])

const FORMATS: { readonly [format: string]: RegExp | undefined } = {
  date: /^\d{4}-\d\d-\d\d$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
  decimal: /^-?\d+(\.\d+)?$/,
  time: /^\d\d:\d\d:\d\dZ$/,
  duration: /^P\d/,
  email: /^\S+@\S+\.\S+$/,
  hostname: /^[a-z]+(\.[a-z]+)+$/,
  ipv4: /^\d+(\.\d+){3}$/,
  ipv6: /^[0-9a-f:]+$/,
  uri: /^https:\/\/\S+$/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
}

function hasType(value: Json, type: Json): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  return type === 'integer' ? Number.isInteger(value) : typeof value === type
}

function isDeclared(name: string, schema: JsonObject): boolean {
  return isObject(schema.properties) && name in schema.properties
}

function resolve(ref: string, root: Json): Json {
  const steps = ref.split('/').slice(1)
  return steps.reduce<Json>((at, step) => (isObject(at) ? (at[step] ?? false) : false), root)
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : []
}
