/** Exact arithmetic on the decimal strings that money comes as. Never through a float. */

interface Scaled {
  readonly units: bigint
  readonly decimals: number
}

function scaled(text: string): Scaled {
  const [whole = '0', fraction = ''] = text.split('.')
  return { units: BigInt(whole + fraction), decimals: fraction.length }
}

function sameScale(a: string, b: string): readonly [bigint, bigint, number] {
  const [x, y] = [scaled(a), scaled(b)]
  const decimals = Math.max(x.decimals, y.decimals)
  const lift = ({ units, decimals: own }: Scaled) => units * 10n ** BigInt(decimals - own)
  return [lift(x), lift(y), decimals]
}

function textOf(units: bigint, decimals: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0')
  const sign = units < 0n ? '-' : ''
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = decimals === 0 ? '' : digits.slice(-decimals).replace(/0+$/, '')
  return sign + whole + (fraction === '' ? '' : `.${fraction}`)
}

export function add(a: string, b: string): string {
  const [x, y, decimals] = sameScale(a, b)
  return textOf(x + y, decimals)
}

export function subtract(a: string, b: string): string {
  const [x, y, decimals] = sameScale(a, b)
  return textOf(x - y, decimals)
}

/** Below zero, zero or above, as sorting wants it. */
export function compare(a: string, b: string): number {
  const [x, y] = sameScale(a, b)
  return x < y ? -1 : x > y ? 1 : 0
}

export const isZero = (text: string): boolean => scaled(text).units === 0n
export const isNegative = (text: string): boolean => scaled(text).units < 0n

/** For lengths of bars and heights of curves, where the last digit cannot be seen. */
export function ratio(part: string, whole: string): number {
  const [x, y] = sameScale(part, whole)
  return y === 0n ? 0 : Number((x * 1_000_000n) / y) / 1_000_000
}

const PLAIN = /^(?=\.?\d)\d{0,12}(\.\d{0,9})?$/
/** Commas are surely thousands only if there are two of them or a dot follows: half the world reads `1,234` as 1.234. */
const GROUPED = /^[1-9]\d{0,2}(,\d{3}\.\d{1,9}|(,\d{3}){2,3}(\.\d{1,9})?)$/

/** What somebody typed into a field for money, as the API wants it; undefined if it is no amount, or may be two. */
export function readAmount(typed: string): string | undefined {
  const text = typed.trim().replace(/^\$/, '').trim()
  if (GROUPED.test(text)) return text.replaceAll(',', '')
  return PLAIN.test(text) ? text.replace(/^\./, '0.').replace(/\.$/, '') : undefined
}

/** Whether it is a comma that keeps it from being read. The wide one is what Chinese keyboards write. */
export const hasUnclearComma = (typed: string): boolean => /[,，]/.test(typed) && readAmount(typed) === undefined
