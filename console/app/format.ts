import { signal } from '@preact/signals'
import { language, locale } from './language.ts'

/** Values as people read them, in the chosen language. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Digits after the leading zeros of a fraction that are worth reading. */
const SIGNIFICANT_DECIMALS = 4
const DECIMALS_MIN = 2
const DECIMALS_MAX = 20

const formats = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat | Intl.RelativeTimeFormat | Intl.PluralRules>()

/** Formats of `Intl` are dear to make and cheap to use. */
function cached<T extends Intl.NumberFormat | Intl.DateTimeFormat | Intl.RelativeTimeFormat | Intl.PluralRules>(
  name: string,
  make: (locale: string) => T,
): T {
  const key = `${language.value} ${name}`
  const known = formats.get(key)
  if (known) return known as T
  const made = make(locale())
  formats.set(key, made)
  return made
}

function currency(decimals: number, decimalsMin = DECIMALS_MIN): Intl.NumberFormat {
  return cached(
    `money ${decimals} ${decimalsMin}`,
    locale =>
      new Intl.NumberFormat(locale, {
        style: 'currency',
        currency: 'USD',
        currencyDisplay: 'narrowSymbol',
        minimumFractionDigits: decimalsMin,
        maximumFractionDigits: decimals,
      }),
  )
}

const leadingZeros = (amount: string): number => /^-?0*\.(0*)/.exec(amount)?.[1]?.length ?? 0

/**
 * Short: `$12.50`, `$9.9988`, `$0.00001235`. The string goes to `Intl` as it is, so nothing is lost on the way. With
 * `decimals`, exactly so many.
 */
export function money(amount: string, decimals?: number): string {
  const most = decimals ?? Math.min(leadingZeros(amount) + SIGNIFICANT_DECIMALS, DECIMALS_MAX)
  return currency(most, decimals).format(amount as `${number}`)
}

const DECIMALS_TOGETHER = [2, 4, 6]
const DECIMALS_STORED = 9

/** As many decimals for all amounts that stand together as the smallest of them needs to show two digits. */
export function decimalsFor(amounts: readonly string[]): number {
  const needed = amounts.map(amount => (Number(amount) === 0 ? 0 : leadingZeros(amount) + DECIMALS_MIN))
  return DECIMALS_TOGETHER.find(decimals => needed.every(own => own <= decimals)) ?? DECIMALS_STORED
}

/** Every digit, for titles and receipts. */
export function exactMoney(amount: string): string {
  return currency(DECIMALS_MAX).format(amount as `${number}`)
}

/** For the axes of charts, where a number is measured, not counted. */
export function roughMoney(amount: number): string {
  return cached(
    'rough money',
    locale =>
      new Intl.NumberFormat(locale, {
        style: 'currency',
        currency: 'USD',
        currencyDisplay: 'narrowSymbol',
        notation: 'compact',
        minimumFractionDigits: 0,
        maximumSignificantDigits: 3,
      }),
  ).format(amount)
}

export function number(value: number): string {
  return cached('number', locale => new Intl.NumberFormat(locale)).format(value)
}

/** `1.2K`, `3.4M`. */
export function compact(value: number): string {
  return cached(
    'compact',
    locale => new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }),
  ).format(value)
}

/** Of a share from 0 to 1. */
export function percent(share: number): string {
  return cached(
    'percent',
    locale =>
      new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: share > 0 && share < 0.1 ? 1 : 0 }),
  ).format(share)
}

/** `8 ms`, `1.24 s`, `2 min 5 s`, `1 min`. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${number(Math.round(ms))} ms`
  if (ms < MINUTE) return `${number(Number((ms / SECOND).toFixed(ms < 10 * SECOND ? 2 : 1)))} s`
  const seconds = Math.round(ms / SECOND)
  const rest = seconds % (MINUTE / SECOND)
  return `${number(Math.floor(seconds / (MINUTE / SECOND)))} min${rest === 0 ? '' : ` ${number(rest)} s`}`
}

/** Days of the server are in UTC; other dates are the reader's own. */
export function date(iso: string, timeZone?: 'UTC'): string {
  const zone = timeZone ? { timeZone } : {}
  return cached(`date ${timeZone}`, locale => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', ...zone })).format(
    new Date(iso),
  )
}

export function dateTime(iso: string): string {
  return cached(
    'date time',
    locale => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }),
  ).format(new Date(iso))
}

/** `14:03:22`, for logs whose day is clear. */
export function clockTime(iso: string): string {
  return cached('clock', locale => new Intl.DateTimeFormat(locale, { timeStyle: 'medium', hourCycle: 'h23' })).format(
    new Date(iso),
  )
}

/** `Nov 15` (in UTC) or `14:00`, for axes. */
export function tick(iso: string, unit: 'hour' | 'day'): string {
  return cached(
    `tick ${unit}`,
    locale =>
      new Intl.DateTimeFormat(
        locale,
        unit === 'hour' ? { hour: 'numeric', minute: '2-digit' } : { month: 'short', day: 'numeric', timeZone: 'UTC' },
      ),
  ).format(new Date(iso))
}

const TICK_MS = 15_000

let ticking: ReturnType<typeof setInterval> | undefined

function moveOn(): void {
  if (!document.hidden) now.value = Date.now()
}

/** Moves on by itself while something on the page shows it, so that "2 minutes ago" stays true. */
export const now = signal(Date.now(), {
  watched() {
    // Not in the middle of a rendering, which is when this is called.
    queueMicrotask(moveOn)
    ticking = setInterval(moveOn, TICK_MS)
  },
  unwatched: () => clearInterval(ticking),
})

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 365 * DAY],
  ['month', 30 * DAY],
  ['day', DAY],
  ['hour', HOUR],
  ['minute', MINUTE],
]

/** `2 minutes ago`, `in 3 days`, `now`. To the nearest, so that what lasts seven days is not over "in 6 days" at once. */
export function relative(iso: string): string {
  const format = cached('relative', locale => new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }))
  const distance = Date.parse(iso) - Math.max(now.value, Date.now())
  for (const [unit, length] of UNITS) {
    if (Math.abs(distance) >= length) return format.format(Math.round(distance / length), unit)
  }
  return format.format(0, 'second')
}
