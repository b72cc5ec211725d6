import { join } from 'node:path'
import { find } from '../machine/requirements.ts'
import type { Options } from '../options.ts'
import { machine } from '../results.ts'
import type { Outcome } from '../rounds.ts'
import { hasMoved } from '../yardstick.ts'
import { type Goal, goalTable } from './goals.ts'
import { tableOf } from './table.ts'

export interface Report {
  readonly outcomes: readonly Outcome[]
  readonly goals: readonly Goal[]
  /** What could not be reported, in sentences. */
  readonly problems: readonly string[]
  readonly options: Options
  /** Of the short comparison that guards against regressions; only a whole run takes it. */
  readonly guardRatio?: number
}

export const RESULTS_FILE = join(import.meta.dir, '../results.json')

/** What the tables of one run look like to a reader. */
export function markdown({ outcomes, problems, goals, options }: Report): string[] {
  return [
    options.isPostgres ? '## Duet on PostgreSQL' : '## Duet beside other gateways',
    '',
    `${machine()}, ${versions()}. \`npm run bench\`; [docs/performance.md](../docs/performance.md) says how. Medians of the rounds,`,
    `and between what they lie; ${options.seconds} s each time. Ratios are of the same round. Pinned: the gateway on one core, load and`,
    'upstream on the other.',
    '',
    ...(options.isQuick ? ['Quick: with smaller numbers than the titles say.'] : goalTable(goals, options)),
    ...(problems.length > 0 ? ['', 'Not reported:', '', ...problems.map(problem => `- ${problem}`)] : []),
    ...outcomes.flatMap(section),
  ]
}

function section(outcome: Outcome): string[] {
  const { workload, placement } = outcome
  return [
    '',
    `### ${workload.title}, ${placement}`,
    '',
    workload.about + restlessness(outcome),
    '',
    ...tableOf(outcome),
  ]
}

/** How calm the machine was. */
function restlessness({ rounds, rejected }: Outcome): string {
  const kept = rounds.filter(({ baselines }) => hasMoved(...baselines)).length
  const repeated = rejected.length > 0 ? ` Rounds rejected because the baseline moved: ${rejected.length}.` : ''
  return kept > 0 ? `${repeated} Rounds kept although it moved: ${kept} of ${rounds.length}.` : repeated
}

/** Everything that was measured, for machines. */
export async function writeJson({ outcomes, problems, goals, options, guardRatio }: Report): Promise<void> {
  const results = {
    machine: machine(),
    versions: versions(),
    seconds: options.seconds,
    guard: { ratio: guardRatio },
    goals: goals.map(({ what, goal, measured, isMet }) => ({ what, goal, measured, isMet })),
    problems,
    workloads: outcomes.map(({ workload, placement, rounds, rejected }) => ({
      id: workload.id,
      title: workload.title,
      placement,
      rounds,
      rejected: rejected.length,
    })),
  }
  await Bun.write(RESULTS_FILE, `${JSON.stringify(results, null, 2)}\n`)
}

function versions(): string {
  const said = (program: string, option: string) => {
    const { stdout, stderr } = Bun.spawnSync([find(program) ?? program, option])
    return /\d+(\.\d+)+/.exec(stdout.toString() + stderr.toString())?.[0] ?? 'unknown'
  }
  return `nginx ${said('nginx', '-v')}, Portkey 1.15.2 on Node.js ${said('node', '-v')}`
}
