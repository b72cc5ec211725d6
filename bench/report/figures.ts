import { median } from '../results.ts'
import type { Outcome } from '../rounds.ts'

/** The middle of all rounds, and between what they lie. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

export const figureOf = (outcome: Outcome, entrant: string, figure: string): Spread | undefined =>
  eachRound(outcome, figures => figures[entrant]?.[figure])

/** What it is more than for `direct` in the same round. */
export const addedOf = (outcome: Outcome, entrant: string, figure: string): Spread | undefined =>
  eachRound(outcome, figures => {
    const [one, direct] = [figures[entrant]?.[figure], figures.direct?.[figure]]
    return one === undefined || direct === undefined ? undefined : one - direct
  })

/** Of the first to the second, in the same round. */
export const ratioOf = (
  outcome: Outcome,
  [one, other]: readonly [string, string],
  figure: string,
): Spread | undefined =>
  eachRound(outcome, figures => {
    const [above, below] = [figures[one]?.[figure], figures[other]?.[figure]]
    return above === undefined || !below ? undefined : above / below
  })

type FiguresOfRound = Outcome['rounds'][number]['figures']

/** Nothing if it was not measured in any round. */
function eachRound({ rounds }: Outcome, read: (figures: FiguresOfRound) => number | undefined): Spread | undefined {
  const known = rounds.map(({ figures }) => read(figures)).filter(value => value !== undefined)
  if (known.length === 0) return undefined
  return { median: median(known), low: Math.min(...known), high: Math.max(...known) }
}
