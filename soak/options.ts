/** What the command line says: `npm run soak -- --minutes 30 --seed 7`. */

export interface SoakOptions {
  readonly minutes: number
  /** The same seed makes the same choices; what comes of them depends on the machine, too. */
  readonly seed: number
}

const MINUTES = 5
const MINUTES_MAX = 24 * 60
const SEED_MAX = 2 ** 31

export function readOptions(args: readonly string[]): SoakOptions {
  const given = new Map<string, string>()
  for (let at = 0; at < args.length; at += 2) given.set(args[at] ?? '', args[at + 1] ?? '')
  for (const name of given.keys()) if (name !== '--minutes' && name !== '--seed') fail(`${name} is no option`)
  const minutes = Number(given.get('--minutes') ?? MINUTES)
  const seed = Number(given.get('--seed') ?? Math.floor(Math.random() * SEED_MAX))
  if (!(minutes > 0 && minutes <= MINUTES_MAX)) fail(`--minutes must be above 0 and at most ${MINUTES_MAX}`)
  if (!Number.isInteger(seed)) fail('--seed must be a whole number')
  return { minutes, seed }
}

function fail(problem: string): never {
  console.error(`soak: ${problem}`)
  process.exit(2)
}
