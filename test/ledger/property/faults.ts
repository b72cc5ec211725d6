import type { Fault, Point } from './crashing-database.ts'
import type { Step } from './generate.ts'
import type { Random } from './random.ts'

const KILLS = 0.013
const FAILURES = 0.01
const LOST_ANSWERS = 0.004

/** Longer than any step: the database fails until the step is over. */
const UNTIL_THE_END = Number.MAX_SAFE_INTEGER

/** What goes wrong in a step; undefined for most of them. */
export function chooseFault(random: Random, step: Step, isBehind: boolean): Fault | undefined {
  const drawn = random.next()
  if (drawn < KILLS) return kill(random, step)
  if (drawn < KILLS + FAILURES) return fail(random, step, isBehind)
  if (drawn < KILLS + FAILURES + LOST_ANSWERS) return loseAnswer(step)
  return undefined
}

/** It is written, and whoever asked is told that it is not. */
function loseAnswer(step: Step): Fault | undefined {
  if (isSingle(step, IN_JOURNAL)) return { type: 'fail', point: 'after a single write', skip: 0, writes: 1 }
  if (!isSingle(step, ['refuse', 'deposit'])) return undefined
  return { type: 'fail', point: 'after the commit', skip: 0, writes: 1 }
}

/** Death at a start, of which nothing is written but what the process before has left in its journal. */
export function killAtStart(random: Random): Fault {
  const points = ['before a transaction', 'before its first write', 'between two writes', 'before the commit'] as const
  const point = random.pick([...points, 'after the commit'] as const)
  return { type: 'kill', point, skip: skip(random, point) }
}

export function kill(random: Random, step: Step): Fault {
  const point = isAlone(step)
    ? random.pick(['before a single write', 'after a single write'] as const)
    : random.weighted({
        ...{ 'before a transaction': 1, 'between two writes': 6, 'before the commit': 2, 'after the commit': 3 },
        // Prices are rare, and each is the only write of its transaction.
        ...{ 'before its first write': isSingle(step, ['publish']) ? 20 : 2, 'at rest': 1 },
        ...{ 'before a single write': 3, 'after a single write': 4 },
      })
  return { type: 'kill', point, skip: skip(random, point) }
}

function fail(random: Random, step: Step, isBehind: boolean): Fault {
  // What is overdue is tried in one go, by itself: half of it done would leave us guessing which half.
  if (isBehind && isSingle(step, ['tend'])) {
    return { type: 'fail', point: 'before a transaction', skip: 0, writes: UNTIL_THE_END }
  }
  const point: Point = isAlone(step)
    ? 'before a single write'
    : random.pick([
        ...(['before a transaction', 'before its first write', 'between two writes', 'before the commit'] as const),
        'before a single write',
      ])
  const writes = random.pick([1, random.between(1, 60), UNTIL_THE_END])
  return { type: 'fail', point, skip: skip(random, point), writes }
}

/** Small numbers first, for most batches write little; large ones so that every place has its turn. */
function skip(random: Random, point: Point): number {
  if (point === 'between two writes') return random.pick([0, 1, 2, random.between(0, 12), random.between(0, 80)])
  const isOnce = point === 'before a single write' || point === 'after a single write'
  return isOnce || random.chance(0.8) ? 0 : random.between(1, 2)
}

/** What every request does: written down in the journal, one row for all that come together. */
export const IN_JOURNAL: readonly string[] = ['hold', 'extend', 'settle']

/** Written without a transaction. */
const isAlone = (step: Step): boolean => isSingle(step, ['cap', 'enable', 'revoke', 'key'])

function isSingle({ submissions }: Step, types: readonly string[]): boolean {
  const [first, second] = submissions
  return first !== undefined && second === undefined && types.includes(first.question.type)
}
