import type { Shape } from '../requests.ts'
import { median } from '../results.ts'
import type { Bout, Figures, Workload } from './workload.ts'

const SMALL: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: 1_000 }
const STARTS = 5

export const startToFirstAnswer: Workload = {
  id: 'start',
  title: 'Start to first answer',
  about: `From the command to the first whole answer of a small chat, in a folder that is in use already; the median of ${STARTS} starts.`,
  columns: [{ figure: 'milliseconds', heading: 'ms' }],
  entrants: (['nginx', 'bare', 'duet', 'portkey'] as const).map(contestant => ({ contestant, shape: SMALL })),
  isShared: false,
  isAlsoUnpinned: true,
  measure,
}

async function measure({ entrant, newStage, isQuick }: Bout): Promise<Figures> {
  const stage = newStage()
  const first = await entrant.contestant.start(stage)
  await first.stop()
  const times: number[] = []
  for (let count = 0; count < (isQuick ? 1 : STARTS); count++) {
    const began = performance.now()
    const running = await entrant.contestant.start(stage)
    times.push(performance.now() - began)
    await running.stop()
  }
  return { milliseconds: median(times) }
}
