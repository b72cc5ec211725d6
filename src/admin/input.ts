import { z } from 'zod'
import { CONCURRENT_MAX, type PageRequest, PER_MINUTE_MAX } from '../core/directory.ts'
import { type Nanos, parseDollars, ZERO } from '../core/money.ts'
import { AdminError, unprocessable } from './failure.ts'

const NAME_CHARACTERS_MAX = 64
const MODELS_MAX = 200
const MODEL_CHARACTERS_MAX = 200
/** Nobody needs what was said a year ago, and somebody might find it. */
const KEEP_DAYS_MAX = 365
const PAGE_ROWS = 50
const PAGE_ROWS_MAX = 500

/** Dollars as a decimal string; a plain number is understood too. */
export const dollars = z
  .union([z.string(), z.number()], 'must be an amount in dollars such as "12.50"')
  .transform((value, context): Nanos => {
    const amount = parseDollars(String(value).trim())
    if (amount !== undefined) return amount
    context.addIssue('must be an amount in dollars, at most a billion with nine decimals, such as "12.50"')
    return z.NEVER
  })
  .meta({ format: 'decimal', description: 'An amount in dollars, such as `12.50`.' })

/** Half of a character cannot be stored, and what was hashed would not be what is read again. */
export const text = z.string().refine(value => value.isWellFormed(), 'must be valid Unicode text')

export const atLeastZero = dollars.refine(amount => amount >= ZERO, 'must not be negative')
export const name = text
  .trim()
  .min(1, 'must not be empty')
  .max(NAME_CHARACTERS_MAX, `must have at most ${NAME_CHARACTERS_MAX} characters`)
/** It is read with every call of the key. */
const models = z.array(text.min(1).max(MODEL_CHARACTERS_MAX)).min(1).max(MODELS_MAX)
const wholeNumber = (max: number) => {
  const problem = `must be a whole number from 1 to ${max}`
  return z.int(problem).min(1, problem).max(max, problem)
}
const maxConcurrent = wholeNumber(CONCURRENT_MAX)
const maxPerMinute = wholeNumber(PER_MINUTE_MAX)
export const instant = z
  .string('must be a time such as 2026-12-31T00:00:00Z')
  .transform((value, context): number => {
    const time = parseTime(value)
    if (time !== undefined) return time
    context.addIssue('must be a time such as 2026-12-31T00:00:00Z')
    return z.NEVER
  })
  .describe('A time such as `2026-12-31T00:00:00Z`, or a day; UTC unless it says otherwise.')

export const NEW_ACCOUNT = z.strictObject({
  name,
  group: text.trim().min(1).max(NAME_CHARACTERS_MAX).default('default'),
  balance: atLeastZero.prefault('0'),
})

export const TOP_UP = z.strictObject({
  amount: dollars.refine(amount => amount > ZERO, 'must be above zero'),
  source: text.min(1).max(200).optional(),
  note: text.max(1000).nullish(),
})

export const ADJUSTMENT = z.strictObject({
  amount: dollars.refine(amount => amount !== ZERO, 'must not be zero'),
  source: text.min(1).max(200).optional(),
  note: text.trim().min(1, 'must say what is corrected').max(1000),
})

export const NEW_KEY = z.strictObject({
  account: text.min(1).optional(),
  name,
  cap: atLeastZero.nullish(),
  models: models.nullish(),
  expires_at: instant.nullish(),
  max_concurrent: maxConcurrent.nullish(),
  max_per_minute: maxPerMinute.nullish(),
})

export const KEY_CHANGES = z.strictObject({
  name: name.optional(),
  cap: atLeastZero.nullable().optional(),
  models: models.nullable().optional(),
  expires_at: instant.nullable().optional(),
  enabled: z.boolean().optional(),
  keep_days: z.int().min(1).max(KEEP_DAYS_MAX).nullable().optional(),
  max_concurrent: maxConcurrent.nullable().optional(),
  max_per_minute: maxPerMinute.nullable().optional(),
})

export const CHANNEL_TEST = z.strictObject({ model: z.string().min(1).optional() })

export function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  if (!issue) throw new AdminError(422, 'invalid_field', 'the request is not valid')
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  const param = [...issue.path, ...(unknown === undefined ? [] : [unknown])].join('.')
  const problem = issue.message.includes('received undefined') ? 'is required' : issue.message
  throw unprocessable(unknown === undefined ? `${param || 'body'}: ${problem}` : `${param}: unknown field`, param)
}

/** A cursor is whatever the last page gave; one that cannot be is refused before a store sees it. */
export function readPage(query: URLSearchParams, cursors = /^[\w-]{1,100}$/): PageRequest {
  const limit = query.get('limit')
  if (limit !== null && !/^[1-9]\d{0,3}$/.test(limit)) throw unprocessable('limit: must be a number from 1', 'limit')
  const cursor = query.get('cursor') || undefined
  if (cursor !== undefined && !cursors.test(cursor)) throw unprocessable('cursor: is not valid', 'cursor')
  return { cursor, limit: Math.min(Number(limit ?? PAGE_ROWS), PAGE_ROWS_MAX) }
}

const TIME = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/

/** A time of the ISO 8601 kind, with or without its hours; without a zone it is UTC, as everything here is. */
function parseTime(text: string): number | undefined {
  const [, day, hours, , , zone] = TIME.exec(text) ?? []
  if (day === undefined || !isDay(day)) return undefined
  const time = Date.parse(hours !== undefined && zone === undefined ? `${text}Z` : text)
  return Number.isNaN(time) ? undefined : time
}

export function readTime(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  const time = parseTime(text)
  if (time === undefined) throw unprocessable(`${name}: must be a time such as 2026-12-31T00:00:00Z`, name)
  return time
}

/** The 30th of February parses, as a day in March. */
const isDay = (day: string): boolean => {
  const time = Date.parse(day)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}
