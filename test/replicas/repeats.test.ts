import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { nameHash } from '../../src/core/repeats.ts'
import { createSealer } from '../../src/core/seal.ts'
import { answers, answersLate, expectFirst, expectReplay, NamedScene, namedUpstream } from '../faults/named-scene.ts'
import { TEXT } from '../faults/said.ts'
import {
  booksOf,
  chargesIn,
  expectSound,
  nameOf,
  STREAMED,
  settledBooks,
  stageConfig,
  WAYS,
  type Way,
  WHOLE,
} from '../faults/support.ts'
import type { Duet } from '../support/duet.ts'
import type { ScriptedUpstream } from '../support/upstream.ts'
import { expectError, newCaller } from '../support/wire.ts'
import { type Fleet, joinFleet, one, SECRET, START_MS_MAX, soon, startFleet } from './fleet.ts'

/** A call with an `idempotency-key` is made once, wherever it is asked for again. */

let upstream: ScriptedUpstream
let fleet: Fleet
let here: Duet
let there: Duet
beforeAll(async () => {
  upstream = namedUpstream()
  fleet = await startFleet(2, { config: stageConfig(upstream.base) })
  here = one(fleet.replicas, 0)
  there = one(fleet.replicas, 1)
}, START_MS_MAX)
afterAll(async () => {
  await fleet.stop()
  await upstream.stop()
})

const [SOME_WHOLE] = WHOLE as [Way, ...Way[]]
const [SOME_STREAM] = STREAMED as [Way, ...Way[]]
const CONFLICT = { status: 409, code: 'idempotency_conflict', type: 'invalid_request_error' } as const

const visited = (scene: NamedScene, times = 1) =>
  soon(
    () => scene.visits.length,
    visits => visits === times,
  )

const claims = async (): Promise<number> => (await fleet.query('SELECT 1 FROM claims')).length

describe('what was answered by one', () => {
  for (const way of WAYS) {
    test(`is given again by the other, for nothing: ${nameOf(way)}`, async () => {
      const scene = new NamedScene(way, answers)
      const caller = await newCaller(here)
      const first = await scene.ask(here, caller).readAll()
      expectFirst(first)
      expectReplay(await scene.ask(there, caller).readAll(), first)
      expect(scene.visits).toHaveLength(1)
      expect(chargesIn(await settledBooks(here, caller.account, 1))).toHaveLength(1)
    })
  }

  test('is refused for another request by the other', async () => {
    const scene = new NamedScene(SOME_WHOLE, answers)
    const caller = await newCaller(here)
    expectFirst(await scene.ask(here, caller).readAll())
    const other = await scene.ask(there, caller, { request: { ...scene.request, max_tokens: 77 } }).readAll()
    expectError(other, CONFLICT)
  })
})

describe('what is under way at one', () => {
  for (const way of WAYS) {
    test(`is waited for by the other, and given when it is there: ${nameOf(way)}`, async () => {
      const scene = new NamedScene(way, answersLate)
      const caller = await newCaller(here)
      const asked = scene.ask(here, caller)
      if (way.stream) expect(await asked.readUntil(TEXT)).toBe(true)
      else await visited(scene)
      const repeats = [scene.ask(there, caller), scene.ask(there, caller), scene.ask(here, caller)]
      scene.goOn()
      const first = await asked.readAll()
      expectFirst(first)
      for (const repeat of repeats) expectReplay(await repeat.readAll(), first)
      expect(scene.visits).toHaveLength(1)
      const books = await settledBooks(here, caller.account, 1)
      expectSound(books)
      expect(chargesIn(books)).toHaveLength(1)
    })
  }

  test('is refused for another request by the other, at once', async () => {
    const scene = new NamedScene(SOME_WHOLE, answersLate)
    const caller = await newCaller(here)
    const asked = scene.ask(here, caller)
    await visited(scene)
    const other = await scene.ask(there, caller, { request: { ...scene.request, max_tokens: 77 } }).readAll()
    expectError(other, CONFLICT)
    scene.goOn()
    expectFirst(await asked.readAll())
  })

  test('is waited for no longer than the caller waits', async () => {
    const scene = new NamedScene(SOME_WHOLE, answersLate)
    const caller = await newCaller(here)
    const asked = scene.ask(here, caller)
    await visited(scene)
    const headers = { 'x-stainless-timeout': '1' }
    const repeat = await scene.ask(there, caller, { headers }).readAll()
    expectError(repeat, { status: 504, code: 'upstream_timeout', type: 'duet_api_error' })
    scene.goOn()
    const first = await asked.readAll()
    expectFirst(first)
    expectReplay(await scene.ask(there, caller, { headers }).readAll(), first)
    expect(scene.visits).toHaveLength(1)
  })

  test('is made again by one who waits for it at the other, if it fails', async () => {
    let isFirst = true
    const scene = new NamedScene(SOME_STREAM, async (visit, scene) => {
      if (!isFirst) return answers(visit, scene)
      isFirst = false
      await scene.mayGoOn
      return Response.json({ error: { message: 'no such thing', type: 'invalid_request_error' } }, { status: 400 })
    })
    const caller = await newCaller(here)
    const asked = scene.ask(here, caller)
    await visited(scene)
    const repeats = [scene.ask(there, caller), scene.ask(there, caller)]
    await soon(claims, count => count > 0)
    scene.goOn()
    expect((await asked.readAll()).status).toBe(400)
    const again = await Promise.all(repeats.map(repeat => repeat.readAll()))
    expect(again.map(({ status }) => status)).toEqual([200, 200])
    expect(scene.visits).toHaveLength(2)
    expect(chargesIn(await settledBooks(here, caller.account, 2))).toHaveLength(1)
  })

  test('of one key is nothing of another’s', async () => {
    const scene = new NamedScene(SOME_WHOLE, answersLate)
    const [caller, stranger] = [await newCaller(here), await newCaller(here)]
    const asked = scene.ask(here, caller)
    await visited(scene)
    const other = scene.ask(there, stranger)
    await visited(scene, 2)
    scene.goOn()
    expectFirst(await asked.readAll())
    expectFirst(await other.readAll())
  })
})

test('a name that all use at the same time is one call', async () => {
  const scene = new NamedScene(SOME_WHOLE, answersLate)
  const caller = await newCaller(here)
  const asked = Array.from({ length: 20 }, (_, place) => scene.ask(place % 2 ? here : there, caller))
  await visited(scene)
  scene.goOn()
  const all = await Promise.all(asked.map(listener => listener.readAll()))
  expect(new Set(all.map(({ text }) => text)).size).toBe(1)
  expect(all.filter(({ headers }) => headers.get('x-duet-replay-of') === null)).toHaveLength(1)
  expect(scene.visits).toHaveLength(1)
})

test('nothing is claimed when everything is over', async () => {
  await soon(claims, count => count === 0)
})

test('a name that a living replica could not give back is free some seconds later', async () => {
  const scene = new NamedScene(SOME_WHOLE, answers)
  const caller = await newCaller(here)
  const hash = nameHash(scene.name, createSealer(SECRET))
  const left = await fleet.query(`INSERT INTO claims (key_id, name_hash, fingerprint, request_id, owner)
    SELECT '${caller.keyId}', '${hash}', 'any', 'over', owner FROM owners ORDER BY expires_at DESC LIMIT 1 RETURNING owner`)
  expect(left).toHaveLength(1)
  const answer = await soon(
    () => scene.ask(there, caller).readAll(),
    ({ status }) => status === 200,
    15_000,
  )
  expectFirst(answer)
  expect(scene.visits).toHaveLength(1)
}, 30_000)

describe('a replica that dies', () => {
  test('leaves its calls to others, when it is certain that nobody makes them', async () => {
    const scene = new NamedScene(SOME_STREAM, (visit, scene) =>
      scene.visits.length === 1 ? answersLate(visit, scene) : answers(visit, scene),
    )
    const doomed = await joinFleet(fleet.database, { config: stageConfig(upstream.base) })
    const caller = await newCaller(here)
    const asked = scene.ask(doomed, caller)
    expect(await asked.readUntil(TEXT)).toBe(true)
    const repeat = scene.ask(there, caller)
    await doomed.stop('SIGKILL')
    const answer = await repeat.readAll()
    expectFirst(answer)
    expect(scene.visits).toHaveLength(2)
    expectReplay(await scene.ask(here, caller).readAll(), answer)
    const books = await soon(
      () => booksOf(here, caller.account),
      ({ rows }) => rows.length === 2,
    )
    expectSound(books)
    expect(chargesIn(books)).toHaveLength(1)
    expect(books.rows.map(({ status }) => status).sort()).toEqual(['interrupted', 'ok'])
  }, 90_000)

  test('and is stopped in time leaves nothing that others wait for', async () => {
    const scene = new NamedScene(SOME_WHOLE, answersLate)
    const leaving = await joinFleet(fleet.database, {
      config: stageConfig(upstream.base),
      env: { DUET_DRAIN_SECONDS: '1' },
    })
    const caller = await newCaller(here)
    const asked = scene.ask(leaving, caller)
    await visited(scene)
    const repeat = scene.ask(there, caller)
    const stopped = leaving.stop()
    await visited(scene, 2)
    scene.goOn()
    expectFirst(await repeat.readAll())
    expect((await asked.readAll()).status).toBe(503)
    expect(await stopped).toBe(0)
  }, 30_000)
})
