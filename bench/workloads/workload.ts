import type { Contestant, Running, Stage } from '../contestants/contestant.ts'
import type { Placement } from '../machine/cores.ts'
import type { Mock } from '../machine/mock.ts'
import type { Shape } from '../requests.ts'

/** Who is asked what. */
export interface Entrant {
  /** In tables and results: the contestant's name, or that and how it is asked. */
  readonly name: string
  readonly contestant: Contestant
  readonly shape: Shape
}

/** Named numbers of one measurement. */
export type Figures = Readonly<Record<string, number>>

export interface Bout {
  readonly entrant: Entrant
  readonly placement: Placement
  readonly mock: Mock
  readonly seconds: number
  readonly isQuick: boolean
  newStage(): Stage
  /** The one that is kept warm, or a new one, which `finish` ends. */
  begin(): Promise<Running>
  finish(running: Running): Promise<void>
}

export interface Column {
  readonly figure: string
  readonly heading: string
  readonly digits?: number
  /** What it is more than for `direct` in the same round. */
  readonly isOverDirect?: true
}

export interface Workload {
  readonly id: string
  readonly title: string
  /** Sentences on what is done, for the results. */
  readonly about: string
  readonly columns: readonly Column[]
  /** The figure that contestants are compared by, where more is better. */
  readonly ratios?: string
  readonly entrants: readonly EntrantOf[]
  /** Asks those that are started once and kept warm; else each measurement starts its own. */
  readonly isShared: boolean
  /** Measured a second time with nobody pinned. */
  readonly isAlsoUnpinned?: true
  readonly rounds?: number
  measure(bout: Bout): Promise<Figures>
}

/** Every Duet of the run takes the part of `duet`. */
export interface EntrantOf {
  readonly contestant: 'direct' | 'nginx' | 'bare' | 'duet' | 'portkey'
  readonly shape: Shape
  /** Where one contestant is asked in two ways: ` translated`. */
  readonly how?: string
}

/** A figure that must not be reported, and why. */
export class Unreported extends Error {}
