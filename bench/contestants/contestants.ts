import type { Options } from '../options.ts'
import type { Workload } from '../workloads/workload.ts'
import { bare } from './bare.ts'
import type { Contestant } from './contestant.ts'
import { direct } from './direct.ts'
import { duetOf } from './duet.ts'
import { nginx } from './nginx.ts'
import { portkey } from './portkey.ts'

/** Those that the options ask for; each Duet has a channel for everything that a workload makes the upstream do. */
export function contestantsOf({ contestants, duets }: Options, workloads: readonly Workload[]): Contestant[] {
  const behaviours = new Set(workloads.flatMap(({ entrants }) => entrants.map(({ shape }) => shape.behaviour)))
  const all = [direct, nginx, bare, ...duets.map(source => duetOf(source, [...behaviours])), portkey]
  return all.filter(({ name }) => contestants.length === 0 || contestants.includes(name))
}
