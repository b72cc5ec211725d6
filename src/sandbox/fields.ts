import { badRequest } from './refusal.ts'

export type Fields = { readonly [key: string]: unknown }

/** Deeper bodies would overflow the stack of whoever walks or prints them. */
const JSON_DEPTH_MAX = 512

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function parseBody(text: string): Fields {
  const body = parseJson(text)
  if (!isFields(body)) throw badRequest('The request body must be a JSON object')
  if (isDeeperThan(body, JSON_DEPTH_MAX)) throw badRequest('The request body is nested too deeply')
  return body
}

export function fieldsAt(value: unknown, path: string): Fields {
  if (!isFields(value)) throw badRequest(`${path}: Input should be an object`)
  return value
}

export function listAt(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw badRequest(`${path}: Input should be a list`)
  return value
}

export function nonEmptyListAt(value: unknown, path: string): readonly unknown[] {
  if (value === undefined) throw badRequest(`${path}: Field required`)
  const list = listAt(value, path)
  if (list.length === 0) throw badRequest(`${path}: At least one item is required`)
  return list
}

export function textAt(value: unknown, path: string): string {
  if (typeof value !== 'string') throw badRequest(`${path}: Input should be a string`)
  return value
}

export function nonEmptyTextAt(value: unknown, path: string): string {
  if (value === undefined) throw badRequest(`${path}: Field required`)
  const text = textAt(value, path)
  if (text === '') throw badRequest(`${path}: Input should not be empty`)
  return text
}

export function flagAt(value: unknown, path: string): boolean {
  if (value === undefined || value === null) return false
  if (typeof value !== 'boolean') throw badRequest(`${path}: Input should be true or false`)
  return value
}

export function countAt(value: unknown, path: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw badRequest(`${path}: Input should be an integer`)
  if (value < 1) throw badRequest(`${path}: Input should be greater than or equal to 1`)
  return value
}

/** Vendors treat an explicit null like an absent member wherever absence is allowed. */
export function optional<T>(value: unknown, path: string, read: (value: unknown, path: string) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value, path)
}

export function checkRange(value: unknown, path: string, max: number): void {
  if (value === undefined || value === null) return
  if (typeof value !== 'number') throw badRequest(`${path}: Input should be a number`)
  if (value < 0 || value > max) throw badRequest(`${path}: Input should be between 0 and ${max}`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw badRequest('The request body is not valid JSON')
  }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(member => isDeeperThan(member, levels - 1))
}
