/** Nano-dollars. The brand keeps tokens, prices and amounts from being added up by accident. */
export type Nanos = bigint & { readonly unit: 'nano-dollars' }

/** Nano-dollars for a million tokens: `$0.25` per million is `250_000_000n`. */
export type NanosPerMillion = bigint & { readonly unit: 'nano-dollars per million tokens' }

const NANOS_PER_DOLLAR = 1_000_000_000n
const TOKENS_PER_PRICE = 1_000_000n

/** A ledger column is a signed 64-bit integer; a billion dollars leaves room for sums. */
const DOLLARS_MAX = 1_000_000_000n

export const nanos = (amount: bigint): Nanos => amount as Nanos

export const ZERO = nanos(0n)

export const atLeastZero = (amount: Nanos): Nanos => (amount < ZERO ? ZERO : amount)

export const dollars = (whole: number): Nanos => nanos(BigInt(whole) * NANOS_PER_DOLLAR)

/** Reads `12`, `0.25` or `-3.000000001`; undefined for anything else, so that callers say which field is at fault. */
export function parseDollars(text: string): Nanos | undefined {
  const match = /^(-?)(\d{1,10})(?:\.(\d{1,9}))?$/.exec(text)
  if (!match) return undefined
  const [, sign, whole = '0', fraction = ''] = match
  if (BigInt(whole) > DOLLARS_MAX) return undefined
  const amount = BigInt(whole) * NANOS_PER_DOLLAR + BigInt(fraction.padEnd(9, '0'))
  return nanos(sign ? -amount : amount)
}

/** Exact decimal dollars without trailing zeros beyond the cents: `100.00`, `0.000012345`. */
export function formatDollars(amount: Nanos): string {
  const [whole, fraction] = digits(amount)
  let end = fraction.length
  while (end > 2 && fraction[end - 1] === '0') end--
  return `${whole}.${fraction.slice(0, end)}`
}

const NANOS_PER_MICRO = 1_000n

/** To whole micro-dollars, for an amount that must suffice when it is shown with six decimals. */
export const roundedToMicros = (amount: Nanos): Nanos =>
  nanos(((amount + NANOS_PER_MICRO - 1n) / NANOS_PER_MICRO) * NANOS_PER_MICRO)

/** Six decimals, rounded towards zero: the form of the amounts in quota messages. */
export function formatMicroDollars(amount: Nanos): string {
  const [whole, fraction] = digits(amount)
  return `${whole}.${fraction.slice(0, 6)}`
}

/** Amounts before their rounding, in millionths of a nano-dollar: exact, without trailing zeros beyond the cents. */
export function formatMillionths(millionths: bigint): string {
  const whole = millionths / TOKENS_PER_PRICE
  const [dollars, fraction] = digits(nanos(whole))
  const rest = (millionths % TOKENS_PER_PRICE).toString().padStart(6, '0')
  return `${dollars}.${`${fraction}${rest}`.replace(/0{1,13}$/, '')}`
}

/** Prices in configuration files are numbers in dollars per million tokens; nine decimals are kept. */
export function pricePerMillion(dollars: number): NanosPerMillion {
  return BigInt(Math.round(dollars * 1e9)) as NanosPerMillion
}

/** The exact product of tokens and a price, in millionths of a nano-dollar, waiting for its one rounding. */
export const tally = (tokens: number, price: NanosPerMillion): bigint => (tokens === 0 ? 0n : BigInt(tokens) * price)

/** The one rounding, upwards. */
export const fromMillionths = (millionths: bigint): Nanos =>
  nanos((millionths + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE)

export const toMillionths = (amount: Nanos): bigint => amount * TOKENS_PER_PRICE

function digits(amount: Nanos): [whole: string, fraction: string] {
  const near = Number(amount)
  // Up to nine million dollars a number is as exact, and a third as much work; each request has three amounts to write.
  if (near >= 0 && near <= Number.MAX_SAFE_INTEGER) {
    return [String(Math.floor(near / 1e9)), String(near % 1e9).padStart(9, '0')]
  }
  const magnitude = amount < 0n ? -amount : amount
  const sign = amount < 0n ? '-' : ''
  const fraction = (magnitude % NANOS_PER_DOLLAR).toString().padStart(9, '0')
  return [`${sign}${magnitude / NANOS_PER_DOLLAR}`, fraction]
}
