import { formatDollars, fromMillionths, type Nanos, type NanosPerMillion, nanos, tally, toMillionths } from './money.ts'
import type { Usage } from './usage.ts'

export interface Price {
  readonly input: NanosPerMillion
  readonly output: NanosPerMillion
  readonly cacheRead: NanosPerMillion
  readonly cacheWrite: NanosPerMillion
}

/** A price as it was at a time. A charge names the one it was made with, so that it can be computed again. */
export interface PriceVersion extends Price {
  readonly id: number
  readonly model: string
  /** Counted for each model from 1. */
  readonly version: number
  readonly since: number
}

/** The id of no version: what was refused before it could be priced. */
export const NO_PRICE = 0

/** The classes of tokens that a bill has lines for. Reasoning is part of the output and costs the same (spec 8.1). */
export const TOKEN_CLASSES = ['input', 'cacheRead', 'cacheWrite', 'output'] as const

export type TokenClass = (typeof TOKEN_CLASSES)[number]

/** The sum of all token classes is rounded, never each class. */
export const cost = (usage: Usage, price: Price): Nanos =>
  fromMillionths(
    tally(usage.input, price.input) +
      tally(usage.cacheRead, price.cacheRead) +
      tally(usage.cacheWrite, price.cacheWrite) +
      tally(usage.output, price.output),
  )

/** How many output tokens an amount pays for, once the prompt is paid. */
export function affordableOutput(amount: Nanos, promptCost: Nanos, price: Price): number {
  if (amount < promptCost) return 0
  if (price.output === 0n) return Number.MAX_SAFE_INTEGER
  return Number(((amount - promptCost) * 1_000_000n) / price.output)
}

/** As much of the usage as an amount pays for: the prompt comes first. */
export function affordableUsage(usage: Usage, amount: Nanos, price: Price): Usage {
  let left = toMillionths(amount)
  const affordable = { ...usage }
  for (const name of TOKEN_CLASSES) {
    if (tally(usage[name], price[name]) > left) affordable[name] = Number(left / price[name])
    left -= tally(affordable[name], price[name])
  }
  return { ...affordable, reasoning: Math.min(usage.reasoning, affordable.output) }
}

/** What operators compare before a new version is made. */
export const isSamePrice = (a: Price, b: Price): boolean => TOKEN_CLASSES.every(name => a[name] === b[name])

/** In dollars per million tokens, with the names that both APIs use. */
export const formatPrice = (price: Price) => ({
  input: formatDollars(nanos(price.input)),
  output: formatDollars(nanos(price.output)),
  cache_read: formatDollars(nanos(price.cacheRead)),
  cache_write: formatDollars(nanos(price.cacheWrite)),
})
