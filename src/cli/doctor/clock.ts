import { type Check, failed, ok, warning } from './check.ts'

/** From here on, keys expire and sums are cut at moments that nobody expects. */
const SKEW_MS_MAX = 60_000
const SKEW_MS_NOTICED = 5_000

export interface Skew {
  /** How far the other clock is ahead of ours. */
  readonly skewMs: number
  readonly whose: string
}

export function judgeClock(name: string, { skewMs, whose }: Skew): Check {
  if (Math.abs(skewMs) < SKEW_MS_NOTICED) return ok(name, `agrees with ${whose}`)
  const seconds = Math.round(Math.abs(skewMs) / 1_000)
  const message = `${whose}'s clock is ${seconds} seconds ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's`
  return Math.abs(skewMs) < SKEW_MS_MAX ? warning(name, message) : failed(name, message)
}
