import type { Placement } from '../machine/cores.ts'
import type { Ask, Shape } from '../requests.ts'

/** Where a contestant is put: beside which upstream, on which cores, in which folder. */
export interface Stage {
  readonly upstream: string
  readonly placement: Placement
  /** Of this contestant alone, and gone with the run. */
  readonly folder: string
}

export interface Contestant {
  readonly name: string
  /** Who it is, in the words of a legend. */
  readonly label: string
  /** Once for a run, for whoever has to be installed first. */
  install?(): void
  start(stage: Stage): Promise<Running>
}

export interface Running {
  /** Of the process that is measured; `direct` has none. */
  readonly pid: number | undefined
  /** Of the database's first process, where it is no part of the other one. */
  readonly databasePid?: number | undefined
  ask(shape: Shape): Ask
  stop(): Promise<void>
}
