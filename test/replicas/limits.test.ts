import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Duet } from '../support/duet.ts'
import { type Answer, CHAT, post, user } from '../support/http.ts'
import { configFor, type ScriptedUpstream, scriptUpstream } from '../support/upstream.ts'
import { vendorBody } from '../support/vendor.ts'
import { type Caller, expectError, newCaller } from '../support/wire.ts'
import { type Fleet, joinFleet, one, START_MS_MAX, soon, startFleet } from './fleet.ts'

/** What a key may do at once, and in a minute, it may do at all replicas together. */

let upstream: ScriptedUpstream
let fleet: Fleet
let here: Duet
let there: Duet
let gate = Promise.withResolvers<void>()
beforeAll(async () => {
  upstream = scriptUpstream(async visit => {
    if (visit.text.includes('Wait.')) await gate.promise
    return Response.json(vendorBody('chat'))
  })
  fleet = await startFleet(2, { config: configFor(upstream.base, 'chat') })
  here = one(fleet.replicas, 0)
  there = one(fleet.replicas, 1)
}, START_MS_MAX)
afterAll(async () => {
  await fleet.stop()
  await upstream.stop()
})

const call = (duet: Duet, { key }: Caller, content = 'Hi'): Promise<Answer> =>
  post(duet, CHAT, { model: 'acme/swift-2', messages: user(content) }, { key })

const statusOf = async (duet: Duet, caller: Caller): Promise<number> => (await call(duet, caller)).status

const LIMITED = { status: 429, code: 'rate_limited', type: 'duet_api_error' } as const

/** Has so many calls under way, which end when they are let. */
async function wait(duet: Duet, caller: Caller, count = 1): Promise<() => Promise<readonly number[]>> {
  gate = Promise.withResolvers()
  const asked = upstream.requests.length
  const calls = Array.from({ length: count }, () => call(duet, caller, 'Wait.').catch(() => undefined))
  await soon(
    () => upstream.requests.length,
    requests => requests === asked + count,
  )
  return async () => {
    gate.resolve()
    return (await Promise.all(calls)).map(answer => answer?.status ?? 0)
  }
}

describe('requests at once', () => {
  test('that go on at one are refused at the other from its first request on, and let in soon after they have ended', async () => {
    const caller = await newCaller(here, { max_concurrent: 2 })
    const end = await wait(here, caller, 2)
    // What is known of others is at most a second old.
    await soon(
      () => statusOf(there, caller),
      status => status === 429,
    )
    const refused = await call(there, caller)
    expectError(refused, LIMITED)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await end()).toEqual([200, 200])
    await soon(
      () => statusOf(there, caller),
      status => status === 200,
    )
  })

  test('are known to one that has never seen the key', async () => {
    const caller = await newCaller(here, { max_concurrent: 1 })
    const end = await wait(here, caller)
    await soon(
      () => fleet.query(`SELECT 1 FROM key_uses WHERE key_id = '${caller.keyId}' AND under_way = 1`),
      rows => rows.length === 1,
    )
    expectError(await call(there, caller), LIMITED)
    expect(await end()).toEqual([200])
  })

  test('of a replica that died are over some seconds later', async () => {
    const doomed = await joinFleet(fleet.database, { config: configFor(upstream.base, 'chat') })
    const caller = await newCaller(here, { max_concurrent: 1 })
    const end = await wait(doomed, caller)
    await soon(
      () => statusOf(there, caller),
      status => status === 429,
    )
    await doomed.stop('SIGKILL')
    await soon(
      () => statusOf(there, caller),
      status => status === 200,
      15_000,
    )
    await end()
  }, 30_000)
})

/** How old what a replica goes by can be: later than this, each of them has heard what had been told by then. */
const HEARD_MS_MAX = 1_000

/** Of the last minute, by all together. */
async function toldOf({ keyId }: Caller): Promise<number> {
  const rows = await fleet.query<{ recent: string }>(`SELECT recent FROM key_uses WHERE key_id = '${keyId}'`)
  const spans = rows.flatMap(({ recent }): [ageMs: number, count: number][] => JSON.parse(recent))
  return spans.reduce((sum, [, count]) => sum + count, 0)
}

describe('requests in a minute', () => {
  test('count wherever they came, and a refusal says when to come again', async () => {
    const caller = await newCaller(here, { max_per_minute: 4 })
    for (const duet of [here, there]) expect(await statusOf(duet, caller)).toBe(200)
    await soon(
      () => toldOf(caller),
      told => told === 2,
    )
    await Bun.sleep(HEARD_MS_MAX)
    expect([await statusOf(here, caller), await statusOf(here, caller)]).toEqual([200, 200])
    expectError(await call(here, caller), LIMITED)
    const refused = await soon(
      () => call(there, caller),
      ({ status }) => status === 429,
    )
    expectError(refused, LIMITED)
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(45, 61)
  })

  test('are limited for all together within a second, however many come at once', async () => {
    const limit = 10
    const caller = await newCaller(here, { max_per_minute: limit })
    const burst = async () => {
      const calls = Array.from({ length: 30 }, (_, place) => statusOf(place % 2 ? here : there, caller))
      return (await Promise.all(calls)).filter(status => status === 200).length
    }
    const first = await burst()
    // Those that come together before anybody has told anything: each replica knows its own.
    expect(first).toBeWithin(limit, 2 * limit + 1)
    await soon(
      () => toldOf(caller),
      told => told === first,
    )
    await Bun.sleep(HEARD_MS_MAX)
    expect(await burst()).toBe(0)
  })
})

test('a key without limits is told about to nobody', async () => {
  const caller = await newCaller(here)
  expect(await statusOf(here, caller)).toBe(200)
  await Bun.sleep(1_000)
  expect(await fleet.query(`SELECT 1 FROM key_uses WHERE key_id = '${caller.keyId}'`)).toEqual([])
})
