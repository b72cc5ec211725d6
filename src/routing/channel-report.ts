import type { Channel } from '../core/catalog.ts'
import type { BreakerReport, Breakers } from './breakers.ts'

export type BreakerSource = Pick<Breakers, 'of' | 'ofKey'>

/**
 * How it stands with a channel as a whole, for people and their alarms: one whose keys are all left alone is left alone,
 * too, until the first of them may be used again.
 */
export function reportOf(
  { name, usableKeys }: Pick<Channel, 'name' | 'usableKeys'>,
  breakers: BreakerSource,
): BreakerReport {
  const own = breakers.of(name)
  const keys = usableKeys.map(({ id }) => breakers.ofKey(name, id))
  if (keys.length === 0 || keys.some(({ state }) => state === 'closed')) return own
  const isOpen = own.state === 'open' || keys.every(({ state }) => state === 'open')
  const soonest = Math.min(...keys.map(({ restsUntil }) => restsUntil ?? 0))
  return {
    state: isOpen ? 'open' : 'half-open',
    restsUntil: Math.max(own.restsUntil ?? 0, soonest),
    isRefused: own.isRefused || keys.every(({ isRefused }) => isRefused),
  }
}
