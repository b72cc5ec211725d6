import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { UsageView } from '../../src/admin/contract.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { eventually, newCaller } from '../support/wire.ts'
import { type Books, booksOf, chargesIn, dollarsOf, expectSound, expectVerified, nanosOf } from './support.ts'
import { WHOLE_PROGRESS } from './table/answer.ts'
import { ALONE, BACKED, type Case, configFor, secondOf } from './table/cases.ts'
import {
  ALLOWANCE,
  type Booked,
  expectAnswer,
  expectAttempts,
  expectCharged,
  expectRest,
  expectSeen,
} from './table/check.ts'
import { type Footprint, footprintOf } from './table/footprint.ts'
import { mayFailOver, type Outcome } from './table/outcome.ts'
import { type Played, play } from './table/play.ts'
import { Stage } from './table/stage.ts'

/**
 * Every fault at every stage, over every pair of protocols, streamed and whole: first with nobody else to ask, then with
 * a sound upstream behind the faulty one. All of them are played once, many at a time, on one Duet; each has a model and
 * a channel of its own. Then every test looks at what became of one.
 */

const CASES = [...ALONE, ...BACKED]
const AT_ONCE = 48
const PLAY_MS_MAX = 120_000

/** Files that a server may come to need while it works: of its database, of its logs. */
const FILES_MORE_MAX = 16
/** Many times what the faults of one half could need: a heap lets much garbage lie before it looks for it. */
const MEMORY_MORE_BYTES_MAX = 128 * 1024 * 1024
/** With nothing under way there is nothing to wait for. */
const EXIT_MS_MAX = 5_000

const stage = new Stage(CASES)
const outcomes = new Map<string, Played | Error>()
const booked = new Map<string, Booked>()
let duet: Duet
let atFirst: Footprint
let halfway: Footprint
let atLast: Footprint

beforeAll(async () => {
  duet = await startDuet({ config: configFor(CASES, stage.upstream) })
  atFirst = await footprintOf(duet)
  // Those who wait go first, so that at the end nobody waits for them.
  const waiting = CASES.toSorted((a, b) => Number(a.patience === 'long') - Number(b.patience === 'long'))
  const rest = waiting.splice(waiting.length / 2)
  await playAll(waiting)
  halfway = await footprintOf(duet)
  await playAll(rest)
  atLast = await footprintOf(duet)
  const { body } = await duet.admin('GET', '/api/accounts')
  for (const { id } of body.data) note(await booksOf(duet, id))
}, PLAY_MS_MAX)

afterAll(async () => {
  await duet?.stop()
  stage.upstream.stop()
})

async function playAll(waiting: Case[]): Promise<void> {
  const one = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      outcomes.set(next.id, await play(duet, stage, next, await keyFor(next)).catch((error: Error) => error))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
}

/** The first key is an admin's: its answers say where they come from. */
async function keyFor({ outcome }: Case): Promise<string> {
  if (outcome.sees !== 'all that the money buys') return duet.key
  return (await newCaller(duet, { balance: dollarsOf(ALLOWANCE) })).key
}

function note(books: Books): void {
  const charges = Map.groupBy(chargesIn(books), ({ source }) => source)
  for (const row of books.rows) booked.set(row.request_id, { row, charges: amountsOf(charges.get(row.request_id)) })
}

const amountsOf = (charges: readonly { amount: string }[] = []): bigint[] =>
  charges.map(({ amount }) => -nanosOf(amount))

function outcomeOf({ id }: Case): Played {
  const played = outcomes.get(id) ?? new Error('it was not played')
  if (played instanceof Error) throw played
  return played
}

function bookedFor(requestId: string): Booked & { row: UsageView } {
  const { row, charges } = booked.get(requestId) ?? { row: undefined, charges: [] }
  if (!row) throw new Error(`no record of ${requestId}`)
  return { row, charges }
}

describe(`${ALONE.length} faults of an upstream that is the only one`, () => {
  for (const one of ALONE) {
    test(one.title, () => {
      const { heard, next } = outcomeOf(one)
      expectSeen(one.way, one.outcome, heard)
      expectCharged(one.way.upstream, one.outcome, heard, bookedFor(heard.requestId))
      if (one.after === 'rests' || (one.after === 'works or rests' && next.status !== 200)) expectRest(one.way, next)
      else expectAnswer(one.way, next)
    })
  }
})

const ANSWERED: Outcome = { sees: 'an answer', progress: WHOLE_PROGRESS }

describe(`${BACKED.length} faults of an upstream with a sound one behind it`, () => {
  for (const one of BACKED) {
    test(one.title, async () => {
      const { heard, secondVisits, next } = outcomeOf(one)
      const isHandedOn = mayFailOver(one.outcome)
      const owed = isHandedOn ? ANSWERED : one.outcome
      expectSeen(one.way, owed, heard)
      expect(secondVisits).toBe(isHandedOn ? 1 : 0)
      if (heard.status === 200) expect(heard.headers.get('x-duet-channel')).toBe(isHandedOn ? secondOf(one.id) : one.id)
      const answerer = isHandedOn && one.second ? one.second : one.way.upstream
      expectCharged(answerer, owed, heard, bookedFor(heard.requestId))
      const { body } = await duet.admin('GET', `/api/usage/${heard.requestId}`)
      expectAttempts(one, body.receipt.attempts)
      expectAnswer(one.way, next)
    })
  }
})

describe('when all of it is over', () => {
  test('nothing is held, and the books add up', async () => {
    const { body } = await duet.admin('GET', '/api/accounts')
    for (const { id } of body.data) expectSound(await booksOf(duet, id))
    await expectVerified(duet)
  })

  test('no call is left with an upstream, and no connection', async () => {
    const busy = await eventually(
      () => stage.upstream.busy,
      count => count === 0,
    )
    expect(busy).toBe(0)
    stage.upstream.closeIdle()
    const open = await eventually(
      () => stage.upstream.open,
      count => count === 0,
    )
    expect(open).toBe(0)
  })

  test('no file is left open', async () => {
    const { files } = await eventually(
      () => footprintOf(duet),
      now => now.files <= atFirst.files + FILES_MORE_MAX,
    )
    expect(files).toBeLessThanOrEqual(atFirst.files + FILES_MORE_MAX)
  })

  test('memory has not grown with every fault', () => {
    expect(atLast.residentBytes - halfway.residentBytes).toBeLessThan(MEMORY_MORE_BYTES_MAX)
  })

  test('nothing keeps it from stopping', async () => {
    const late = new Promise<string>(resolve => setTimeout(resolve, EXIT_MS_MAX, 'still running'))
    expect(await Promise.race([duet.stop(), late])).toBe(0)
  })
})
