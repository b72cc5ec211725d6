import type { Contestant } from './contestants/contestant.ts'
import type { Entrant, Workload } from './workloads/workload.ts'

/** Every Duet of the run takes the part of `duet`; whoever was not asked for takes none. */
export function entrantsOf(workload: Workload, contestants: readonly Contestant[]): Entrant[] {
  return workload.entrants.flatMap(({ contestant: part, shape, how = '' }) =>
    contestants
      .filter(({ name }) => name === part || (part === 'duet' && name.startsWith('duet-')))
      .map(contestant => ({ name: contestant.name + how, contestant, shape })),
  )
}
