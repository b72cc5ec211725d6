import { Random, randomOfEpoch } from '../../ledger/property/random.ts'

/*
 * DUET_SEED=1234  other cases than the usual ones
 * DUET_CASE=17    only that one of them; a case that fails says both
 */
const { DUET_SEED, DUET_CASE } = process.env
const seed = Number(DUET_SEED ?? 1)

/** A busy machine is slow, and a test that hangs must end. */
export const TIME_MS_MAX = 120_000

export { Random }

/** The same cases every time; each has chance of its own, so that it can be repeated without those before it. */
export async function eachCase(count: number, check: (random: Random) => void | Promise<void>): Promise<void> {
  const only = DUET_CASE === undefined ? undefined : Number(DUET_CASE)
  for (let place = only ?? 0; place < (only === undefined ? count : only + 1); place++) {
    try {
      await check(randomOfEpoch(seed, place))
    } catch (cause) {
      throw new Error(`DUET_SEED=${seed} DUET_CASE=${place}\n${cause instanceof Error ? cause.message : cause}`, {
        cause,
      })
    }
  }
}

/** Fails with everything that a reader needs to see what went wrong. */
export function same(actual: unknown, expected: unknown, about: () => unknown): void {
  if (Bun.deepEquals(actual, expected, true)) return
  const show = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value, undefined, 1))
  throw new Error(`expected ${show(expected)}\nactual ${show(actual)}\nof ${show(about())}`)
}
