import { isObject, type JsonObject } from '../core/ask.ts'
import { GatewayError, invalid } from '../core/failure.ts'

/**
 * Small readers for what callers send: each returns the value with its type, or throws a failure that names the place.
 * `null` counts as absent for every optional field.
 */

/** For values that were checked, or may be anything: undefined where they are of another type. */
export const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
/** The same, empty where there is none. Never `String(...)`: an object may have a say in what that gives. */
export const textOf = (value: unknown): string => (typeof value === 'number' ? String(value) : (asText(value) ?? ''))
export const asNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

export function object(value: unknown, param: string): JsonObject {
  if (!isObject(value)) throw invalid(param, 'must be an object')
  return value
}

export function text(value: unknown, param: string): string {
  if (typeof value !== 'string') throw invalid(param, 'must be a string')
  return value
}

export function name(value: unknown, param: string): string {
  if (text(value, param) === '') throw invalid(param, 'must not be empty')
  return value as string
}

export function list(value: unknown, param: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(param, 'must be an array')
  return value
}

export function oneOf<T extends string>(value: unknown, choices: readonly T[], param: string): T {
  if (!choices.includes(value as T)) throw invalid(param, `must be one of ${choices.join(', ')}`)
  return value as T
}

export function boolean(value: unknown, param: string): boolean {
  if (typeof value !== 'boolean') throw invalid(param, 'must be a boolean')
  return value
}

export function number(value: unknown, param: string): number {
  if (typeof value !== 'number') throw invalid(param, 'must be a number')
  return value
}

export function positiveInteger(value: unknown, param: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) throw invalid(param, 'must be an integer of at least 1')
  return value as number
}

type Reader<T> = (value: unknown, param: string) => T

export function optional<T>(value: unknown, param: string, read: Reader<T>): T | undefined {
  return value === undefined || value === null ? undefined : read(value, param)
}

/**
 * Checks the items of a list. What is wrong with one is named by its own readers, and the way to it is put in front only
 * then: a long prompt has thousands of places, and all of them would have to be written down for nothing.
 */
export function each(items: readonly unknown[], param: string, check: (item: unknown, place: number) => void): void {
  for (let place = 0; place < items.length; place++) {
    try {
      check(items[place], place)
    } catch (error) {
      throw inside(`${param}[${place}]`, error)
    }
  }
}

/** The failure as it is told from further out. */
function inside(at: string, error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.failure.kind !== 'field-invalid') return error
  const { param, problem } = error.failure
  return invalid(param === ITSELF || param.startsWith('[') ? at + param : `${at}.${param}`, problem)
}

/** For readers inside `each`: the item, and no member of it. */
export const ITSELF = ''

/** A string or a list of strings: `stop` and its relatives. */
export function texts(value: unknown, param: string): readonly string[] {
  if (typeof value === 'string') return [value]
  return list(value, param).map((item, place) => text(item, `${param}[${place}]`))
}

/** Section 4: these two are missed with a 500 of their own, before any other field is looked at. */
export function requiredMessages(body: JsonObject): readonly unknown[] {
  const { messages } = body
  if (!Array.isArray(messages) || messages.length === 0)
    throw new GatewayError({ kind: 'field-missing', field: 'messages' })
  return messages
}

export function requiredField(body: JsonObject, field: string): unknown {
  const value = body[field]
  if (value === undefined || value === null) throw new GatewayError({ kind: 'field-missing', field })
  return value
}

/** Server-side conversation state loses history when it is ignored, so it is the one unknown field that is refused. */
export function refuseThread(body: JsonObject): void {
  if (body.thread !== undefined && body.thread !== null) throw new GatewayError({ kind: 'thread-unsupported' })
}
