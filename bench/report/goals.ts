import type { Options } from '../options.ts'
import type { Outcome } from '../rounds.ts'
import { addedOf, figureOf, ratioOf, type Spread } from './figures.ts'

export interface Goal {
  readonly what: string
  readonly goal: string
  /** Nothing if it was not measured. */
  readonly measured: Spread | undefined
  readonly digits: number
  readonly isMet: boolean | undefined
}

type Bound = { readonly atLeast: number } | { readonly atMost: number } | { readonly under: number }

/** What Duet is to reach on one core: judged by the median, never by the best round. */
export function goalsOf(outcomes: readonly Outcome[]): Goal[] {
  const pinned = new Map(outcomes.filter(({ placement }) => placement === 'pinned').map(one => [one.workload.id, one]))

  const goal = (what: string, measured: Spread | undefined, bound: Bound, { unit = '', digits = 2 } = {}): Goal => ({
    what,
    goal: `${inWords(bound)}${unit && ` ${unit}`}`,
    measured,
    digits,
    isMet: measured && holds(measured.median, bound),
  })
  const ratio = (id: string, pair: readonly [string, string]) => from(id, outcome => ratioOf(outcome, pair, 'rate'))
  const added = (id: string, entrant: string, figure: string) => from(id, outcome => addedOf(outcome, entrant, figure))
  const figure = (id: string, entrant: string, name: string) => from(id, outcome => figureOf(outcome, entrant, name))
  const growth = (pair: readonly [string, string]) => from('memory-work', outcome => growthOf(outcome, pair))
  function from(id: string, read: (outcome: Outcome) => Spread | undefined): Spread | undefined {
    const outcome = pinned.get(id)
    return outcome && read(outcome)
  }

  const [ours, translated] = ['duet', 'duet translated']
  return [
    goal('Small chat, to nginx', ratio('chat', [ours, 'nginx']), { atLeast: 0.25 }),
    goal('Small chat, to the bare proxy', ratio('chat', [ours, 'bare']), { atLeast: 0.8 }),
    goal('Small chat, to Portkey', ratio('chat', [ours, 'portkey']), { atLeast: 12 }, { digits: 1 }),
    goal('Translated chat, to untranslated', ratio('chat', [translated, ours]), { atLeast: 0.85 }),
    goal('Prompts of 32 KB, to the bare proxy', ratio('prompt-32k', [ours, 'bare']), { atLeast: 0.7 }),
    goal('Prompts of 200 KB, to the bare proxy', ratio('prompt-200k', [ours, 'bare']), { atLeast: 0.7 }),
    goal('Frames passed through, to nginx', ratio('stream', [ours, 'nginx']), { atLeast: 0.6 }),
    goal('Frames translated, to nginx', ratio('stream', [translated, 'nginx']), { atLeast: 0.2 }),
    goal('Added at 1,000 requests/s, p50', added('rate-1000', ours, 'p50Milliseconds'), { under: 0.3 }, { unit: 'ms' }),
    goal('Added at 1,000 requests/s, p99', added('rate-1000', ours, 'p99Milliseconds'), { under: 1.5 }, { unit: 'ms' }),
    goal('5,000 streams, frames lost', figure('paced-5000', translated, 'lost'), { atMost: 0 }, { digits: 0 }),
    goal('5,000 streams, of the frames offered', figure('paced-5000', translated, 'delivered'), { atLeast: 0.95 }),
    // biome-ignore format: one line, one goal
    goal('5,000 streams, added p99', added('paced-5000', translated, 'p99Milliseconds'), { under: 250 }, { unit: 'ms', digits: 1 }),
    // biome-ignore format: one line, one goal
    goal('5,000 streams, memory each', figure('paced-5000', translated, 'kilobytes'), { under: 30 }, { unit: 'KB', digits: 1 }),
    goal('Idle memory', figure('memory-idle', ours, 'idle'), { under: 60 }, { unit: 'MB', digits: 1 }),
    // biome-ignore format: one line, one goal
    goal('Idle memory, console visited', figure('memory-idle', ours, 'withPage'), { under: 60 }, { unit: 'MB', digits: 1 }),
    goal('Memory after 500,000 requests, to that after 100,000', growth(['allRequests', 'fewRequests']), {
      atMost: FLAT,
    }),
    goal('Memory after 50,000 aborted streams, to that after 10,000', growth(['allAborted', 'fewAborted']), {
      atMost: FLAT,
    }),
    goal('Start to first answer', figure('start', ours, 'milliseconds'), { under: 150 }, { unit: 'ms', digits: 0 }),
  ]
}

/** A heap breathes; what leaks with every request would be many times this. */
const FLAT = 1.1

function growthOf({ rounds }: Outcome, [later, earlier]: readonly [string, string]): Spread | undefined {
  const { duet } = rounds[0]?.figures ?? {}
  const [after, before] = [duet?.[later], duet?.[earlier]]
  if (after === undefined || before === undefined) return undefined
  const ratio = after / before
  return { median: ratio, low: ratio, high: ratio }
}

function holds(value: number, bound: Bound): boolean {
  if ('atLeast' in bound) return value >= bound.atLeast
  return 'atMost' in bound ? value <= bound.atMost : value < bound.under
}

function inWords(bound: Bound): string {
  if ('atLeast' in bound) return `at least ${bound.atLeast}`
  return 'atMost' in bound ? `at most ${bound.atMost}` : `under ${bound.under}`
}

/** A run of a part says nothing on the others. */
export function goalTable(goals: readonly Goal[], { isWhole }: Options): string[] {
  const shown = goals.filter(({ measured }) => isWhole || measured)
  const rows = shown.map(({ what, goal, measured, digits, isMet }) => {
    const verdict = isMet === undefined ? 'not measured' : isMet ? 'met' : '**missed**'
    return `| ${what} | ${goal} | ${measured ? measured.median.toFixed(digits) : '–'} | ${verdict} |`
  })
  return ['| one core, money on | goal | measured | |', '|---|---:|---:|---|', ...rows]
}
