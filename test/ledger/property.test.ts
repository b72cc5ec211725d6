import { describe, expect, test } from 'bun:test'
import { STORE } from '../support/databases.ts'
import { newFolder } from '../support/duet.ts'
import { Broken } from './property/checks.ts'
import { POINTS } from './property/crashing-database.ts'
import { drive, type Journey } from './property/driver.ts'
import { POSTGRES_ENGINE } from './property/postgres-engine.ts'
import { POSTGRES_SABOTAGES } from './property/postgres-sabotage.ts'
import { SABOTAGES as SQLITE_SABOTAGES } from './property/sabotage.ts'
import { SQLITE_ENGINE } from './property/sqlite-engine.ts'

/*
 * DUET_SEED=1234   repeats a run; every run prints its seed
 * DUET_EPOCH=17    only that epoch of it
 * DUET_STEPS=5000  fewer or more steps
 * DUET_BREAK=name  breaks the ledger in one of the ways of property/sabotage.ts; the first test must fail then
 */
const { DUET_SEED, DUET_EPOCH, DUET_STEPS, DUET_BREAK } = process.env
const seed = Number(DUET_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0])
const epoch = DUET_EPOCH === undefined ? undefined : Number(DUET_EPOCH)

const IS_EMBEDDED = STORE === 'sqlite'
const engine = IS_EMBEDDED ? SQLITE_ENGINE : POSTGRES_ENGINE
const SABOTAGES = IS_EMBEDDED ? SQLITE_SABOTAGES : POSTGRES_SABOTAGES

/** A step takes a server as long as a hundred take a file. */
const STEPS = IS_EMBEDDED ? 100_000 : 1_500
const SABOTAGED_STEPS = IS_EMBEDDED ? 5_000 : 1_200
/** Always the same: which promise is the first to be found broken depends on it. */
const SABOTAGED_SEED = 1
/** No process may be lucky enough never to die before a statement that is rare: then there are more of them. */
const MORE_TURNS_MAX = 3
/** Half a minute on two idle cores, for each turn; a test that hangs must end. */
const TIME_MS_MAX = 900_000

test(
  'a ledger keeps its promises whatever is asked of it at once, whenever the disk fails, and wherever its process dies',
  async () => {
    const steps = Number(DUET_STEPS ?? STEPS)
    console.log(`seed ${seed}, ${steps} steps${DUET_BREAK ? `, ${DUET_BREAK}` : ''}`)
    const journey = await drive({ seed, epoch, steps, folder: newFolder(), engine, sabotage: sabotageOf(DUET_BREAK) })
    console.log(summary(journey))

    if (epoch !== undefined) return
    expect(journey.steps).toBe(steps)
    if (steps < STEPS) return
    const { deaths, diedBefore, written } = journey.toll
    if (!IS_EMBEDDED) {
      expect(journey.toll.killed).toBeGreaterThan(0)
      return
    }
    expect([...deaths.keys()].sort()).toEqual([...POINTS].sort())
    const spared = () => [...written].filter(statement => !diedBefore.has(statement))
    for (let turn = 1; turn <= MORE_TURNS_MAX && spared().length > 0; turn++) {
      const { toll } = await drive({ seed: seed + turn, steps, folder: newFolder(), engine })
      for (const statement of toll.diedBefore) diedBefore.add(statement)
    }
    expect(spared()).toEqual([])
  },
  TIME_MS_MAX,
)

describe('a ledger that is broken on purpose is found out:', () => {
  for (const [name, sabotage] of Object.entries(SABOTAGES)) {
    test(
      name,
      async () => {
        const [seed, steps] = [SABOTAGED_SEED, SABOTAGED_STEPS]
        const end = await drive({ seed, steps, folder: newFolder(), engine, sabotage }).catch(error => error)
        expect(end).toBeInstanceOf(Broken)
        expect(sabotage.breaks).toContain(end.promise)
        console.log(`${name}: ${end.message.split('\n', 3).join(' ').slice(0, 240)}`)
      },
      TIME_MS_MAX,
    )
  }
})

function sabotageOf(name: string | undefined) {
  const sabotage = name === undefined ? undefined : SABOTAGES[name]
  if (name !== undefined && !sabotage) throw new Error(`DUET_BREAK is one of ${Object.keys(SABOTAGES).join(', ')}`)
  return sabotage
}

function summary({ steps, operations, epochs, verifications, toll, answers }: Journey): string {
  const list = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .map(([name, count]) => `${name} ${count}`)
      .sort()
      .join(', ')
  return [
    `${steps} steps with ${operations} operations in ${epochs} databases, verified ${verifications} times`,
    `${toll.killed} deaths: ${list(toll.deaths)}`,
    `${toll.failures} failed writes`,
    `answers: ${list(answers)}`,
  ].join('\n')
}
