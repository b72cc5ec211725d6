import type { Placement } from './machine/cores.ts'
import type { Observation } from './machine/observe.ts'
import { type Entrant, Unreported } from './workloads/workload.ts'

/** Above this share of a core, what is measured is the load generator or the mock upstream. */
const BUSY_MAX = 0.95

/** Only straight to the mock they may be what limits: that is the ceiling. */
export function failIfSaturated(entrant: Entrant, placement: Placement, seen: Observation): void {
  if (entrant.contestant.name === 'direct') return
  const share = (name: string) => (seen.cpu.get(name) ?? 0) / seen.seconds
  const [load, mock] = [share('load'), share('mock')]
  // Pinned, the two share a core; unpinned, each may fill one.
  const busy = placement.name === 'pinned' ? load + mock : Math.max(load, mock)
  if (busy <= BUSY_MAX) return
  throw new Unreported(
    `load and mock were busy for ${Math.round(busy * 100)} % of a core: they were measured, not this`,
  )
}
