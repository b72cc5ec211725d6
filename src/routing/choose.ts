import type { Channel } from '../core/catalog.ts'

/** The channel for one call: the lowest priority, then by weight. `dice` is a number from 0 up to, but not, 1. */
export function choose(channels: readonly Channel[], dice: number): Channel | undefined {
  const first = Math.min(...channels.map(({ priority }) => priority))
  const equals = channels.filter(({ priority }) => priority === first)
  const total = equals.reduce((sum, { weight }) => sum + weight, 0)
  let point = dice * total
  for (const channel of equals) {
    point -= channel.weight
    if (point < 0) return channel
  }
  return equals.at(-1)
}
