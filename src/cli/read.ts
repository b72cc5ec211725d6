import { wrongUsage } from './failure.ts'

/** Values that people type. A faulty one is named with its option, before anything is sent. */

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

export interface Moment {
  readonly option: string
  readonly now: number
  /** Where a span such as `24h` leads from now. */
  readonly span: 'ago' | 'ahead'
}

/** `24h`, `30d`, `2026-12-31` or `2026-12-31T08:00:00Z`, as ISO 8601; without a zone it is UTC. */
export function readMoment(text: string, { option, now, span }: Moment): string {
  const ms = spanMs(text)
  const time = ms === undefined ? Date.parse(isoTime(text)) : now + (span === 'ago' ? -ms : ms)
  if (Number.isNaN(time)) {
    throw wrongUsage(
      `${option}: "${text}" is neither a span such as 24h or 30d nor a time such as 2026-12-31T00:00:00Z`,
    )
  }
  return new Date(time).toISOString()
}

function spanMs(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,5})([smhdw])$/.exec(text) ?? []
  const ms = UNIT_MS[unit]
  return ms === undefined ? undefined : Number(count) * ms
}

/** Empty where it is none. The 30th of February is none either, though a parser would make it the 2nd of March. */
function isoTime(text: string): string {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/.test(text)) return ''
  const day = text.slice(0, 'YYYY-MM-DD'.length)
  if (!new Date(Date.parse(day) || 0).toISOString().startsWith(day)) return ''
  return /T[^Z+-]*$/.test(text) ? `${text}Z` : text
}

const ROWS_MAX = 1_000_000

/** Without a limit it is all there is, or what the command finds enough. */
export function readLimit(text: string | undefined, otherwise = Number.POSITIVE_INFINITY): number {
  if (text === undefined) return otherwise
  const limit = /^\d{1,7}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > ROWS_MAX) throw wrongUsage(`--limit: must be a number from 1 to ${ROWS_MAX}, not "${text}"`)
  return limit
}

export function readCount(text: string, { option, max }: { readonly option: string; readonly max: number }): number {
  const number = /^[1-9]\d{0,6}$/.test(text) ? Number(text) : Number.NaN
  if (!(number <= max)) throw wrongUsage(`${option}: must be a whole number from 1 to ${max}, not "${text}"`)
  return number
}

const PORT_MAX = 65_535

export function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= PORT_MAX)) throw wrongUsage(`--port: must be a number from 0 to ${PORT_MAX}, not "${text}"`)
  return port
}

export const readNames = (text: string): string[] =>
  text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
