import type { Price } from '../core/catalog.ts'
import { bill, type Nanos } from '../core/money.ts'
import type { Usage } from '../core/usage.ts'

/** Reasoning is part of the output and costs the same; caps on the visible text do not change that (spec 8.1). */
export function cost(usage: Usage, price: Price): Nanos {
  return bill([
    { tokens: usage.input, price: price.input },
    { tokens: usage.cacheRead, price: price.cacheRead },
    { tokens: usage.cacheWrite, price: price.cacheWrite },
    { tokens: usage.output, price: price.output },
  ])
}

/** How many output tokens an amount pays for, once the prompt is paid. */
export function affordableOutput(amount: Nanos, promptCost: Nanos, price: Price): number {
  if (price.output === 0n) return Number.MAX_SAFE_INTEGER
  return Number(((amount - promptCost) * 1_000_000n) / price.output)
}
