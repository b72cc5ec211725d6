import { RESULTS_FILE } from '../report/report.ts'
import { guardRatio } from './compare.ts'

/**
 * Fails on a gross regression only: if Duet is less than half as good, compared with the bare proxy, as when that was
 * recorded last. `--record` records it anew. The last lines are those of `bun test`: whoever counts the one can count
 * the other.
 */

const LEAST_SHARE = 0.5

const results = await Bun.file(RESULTS_FILE).json()
const ratio = await guardRatio()
if (process.argv.includes('--record')) {
  await Bun.write(RESULTS_FILE, `${JSON.stringify({ ...results, guard: { ratio } }, null, 2)}\n`)
}
const recorded = Number(results.guard.ratio)
const least = recorded * LEAST_SHARE
const isGood = ratio >= least
const figures = `${ratio.toFixed(3)} of the bare proxy's requests for the same processor time`
process.stdout.write(`Duet serves ${figures}; recorded ${recorded.toFixed(3)}, fails below ${least.toFixed(3)}\n`)
process.stdout.write(` ${isGood ? 1 : 0} pass\n ${isGood ? 0 : 1} fail\n`)
process.exit(isGood ? 0 : 1)
