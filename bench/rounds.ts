import type { Arena } from './arena.ts'
import type { Options } from './options.ts'
import { say, summary } from './report/progress.ts'
import { type Bout, type Entrant, type Figures, Unreported, type Workload } from './workloads/workload.ts'
import { type Baseline, hasMoved, type Yardstick } from './yardstick.ts'

export interface Round {
  /** Before and after. */
  readonly baselines: readonly [Baseline, Baseline]
  /** By the name of the entrant. */
  readonly figures: Readonly<Record<string, Figures>>
  /** Why whom was not measured: by the name of the entrant. */
  readonly unreported: Readonly<Record<string, string>>
}

/** What came of one workload in one placement. */
export interface Outcome {
  readonly workload: Workload
  readonly placement: 'pinned' | 'unpinned'
  readonly entrants: readonly string[]
  readonly wanted: number
  readonly rounds: readonly Round[]
  readonly rejected: readonly Round[]
}

/** So many rounds may be rejected for each one that is wanted; then the machine is too busy with other things. */
const REJECTED_MAX = 2

/** Round by round, so that whatever changes with time changes for all of them. */
export async function compete(contest: Contest): Promise<Outcome> {
  const { workload, arena, entrants, options } = contest
  const wanted = workload.rounds ?? options.rounds
  if (workload.isShared) for (const { contestant, shape } of entrants) await arena.running(contestant, shape)
  const rounds: Round[] = []
  const rejected: Round[] = []
  while (rounds.length < wanted && rejected.length <= REJECTED_MAX * wanted) {
    say(`${workload.id}, ${arena.placement.name}, round ${rounds.length + 1} of ${wanted}`)
    const round = await play(contest, rounds.length)
    const isRejected = hasMoved(...round.baselines)
    if (isRejected) say(`  the baseline moved: ${JSON.stringify(round.baselines)}`)
    if (isRejected && !options.isNoisy) rejected.push(round)
    else rounds.push(round)
  }
  const names = entrants.map(({ name }) => name)
  return { workload, placement: arena.placement.name, entrants: names, wanted, rounds, rejected }
}

export interface Contest {
  readonly workload: Workload
  readonly entrants: readonly Entrant[]
  readonly arena: Arena
  readonly yardstick: Yardstick
  readonly options: Options
}

async function play(contest: Contest, place: number): Promise<Round> {
  const { workload, entrants, yardstick } = contest
  const figures: Record<string, Figures> = {}
  const unreported: Record<string, string> = {}
  const before = await yardstick.measure()
  for (const entrant of inTurn(entrants, place)) {
    try {
      const measured = await workload.measure(boutOf(contest, entrant))
      figures[entrant.name] = measured
      say(`  ${entrant.name}: ${summary(workload, measured)}`)
    } catch (error) {
      if (!(error instanceof Unreported)) throw error
      unreported[entrant.name] = error.message
      say(`  ${entrant.name}: not reported: ${error.message}`)
    }
  }
  return { baselines: [before, await yardstick.measure()], figures, unreported }
}

/** Who was first is last in the next round, so that nobody always comes after the same one. */
function inTurn<T>(all: readonly T[], round: number): T[] {
  const place = round % all.length
  return [...all.slice(place), ...all.slice(0, place)]
}

function boutOf({ workload, arena, options }: Contest, entrant: Entrant): Bout {
  const { contestant, shape } = entrant
  return {
    entrant,
    placement: arena.placement,
    mock: arena.mock,
    seconds: options.seconds,
    isQuick: options.isQuick,
    newStage: () => arena.newStage(),
    begin: () => (workload.isShared ? arena.running(contestant, shape) : arena.start(contestant)),
    finish: async running => {
      if (!workload.isShared) await running.stop()
    },
  }
}

/** What keeps an outcome from being whole, in sentences. */
export function problemsOf({ workload, placement, wanted, rounds, rejected }: Outcome): string[] {
  const where = `${workload.title}, ${placement}`
  const unreported = new Set(
    rounds.flatMap(round => Object.entries(round.unreported).map(([name, why]) => `${where}, ${name}: ${why}`)),
  )
  const restless = `${where}: ${rejected.length} rounds were rejected, because the machine was busy with other things`
  return [...unreported, ...(rounds.length < wanted ? [restless] : [])]
}
