import { Arena } from './arena.ts'
import { contestantsOf } from './contestants/contestants.ts'
import { entrantsOf } from './entrants.ts'
import { guardRatio } from './guard/compare.ts'
import { PINNED, stayAwayFromGateway, UNPINNED } from './machine/cores.ts'
import { buildNative } from './machine/native.ts'
import { missing } from './machine/requirements.ts'
import { readOptions } from './options.ts'
import { goalsOf } from './report/goals.ts'
import { writePlots } from './report/plots.ts'
import { say } from './report/progress.ts'
import { markdown, writeJson } from './report/report.ts'
import { writeResults } from './results.ts'
import { compete, type Outcome, problemsOf } from './rounds.ts'
import { WORKLOADS } from './workloads/workloads.ts'
import { Yardstick } from './yardstick.ts'

/** Duet beside other gateways, on one machine, in turns. `npm run bench -- --help` says what can be asked for. */

const options = readOptions(process.argv.slice(2), WORKLOADS)
const faults = missing()
if (faults.length > 0) {
  say(faults.join('\n'))
  process.exit(1)
}
buildNative()
stayAwayFromGateway()
const contestants = contestantsOf(options, WORKLOADS)
for (const { install } of contestants) install?.()

const yardstick = await Yardstick.start()
const outcomes: Outcome[] = []
for (const placement of options.isPinnedOnly ? [PINNED] : [PINNED, UNPINNED]) {
  const workloads = options.workloads.filter(({ isAlsoUnpinned }) => placement === PINNED || isAlsoUnpinned)
  // Nobody waits in the background while new ones are started for a measurement.
  for (const isShared of [true, false]) {
    const arena = await Arena.open(placement)
    for (const workload of workloads.filter(one => one.isShared === isShared)) {
      const entrants = entrantsOf(workload, contestants)
      if (entrants.length > 0) outcomes.push(await compete({ workload, entrants, arena, yardstick, options }))
    }
    await arena.close()
  }
}

await yardstick.stop()

const problems = outcomes.flatMap(problemsOf)
const report = { outcomes, problems, goals: goalsOf(outcomes), options }
if (options.isWhole) {
  await writeResults('gateways', markdown(report))
  await writePlots(outcomes)
  await writeJson({ ...report, guardRatio: await guardRatio() })
} else if (options.section) {
  await writeResults(options.section, markdown(report))
} else {
  process.stdout.write(`${markdown(report).join('\n')}\n`)
}
process.exit(problems.length > 0 ? 1 : 0)
