import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Duet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { configFor, type ScriptedUpstream, scriptUpstream } from '../support/upstream.ts'
import { vendorBody } from '../support/vendor.ts'
import { type Caller, newCaller } from '../support/wire.ts'
import { type Fleet, one, START_MS_MAX, soon, startFleet } from './fleet.ts'

/** A database that crashes and comes back: replicas hear of each other again. */

let postgres: PostgresServer
let upstream: ScriptedUpstream
let fleet: Fleet
let here: Duet
let there: Duet
beforeAll(async () => {
  postgres = await startPostgres()
  upstream = scriptUpstream(() => Response.json(vendorBody('chat')))
  fleet = await startFleet(2, { database: await postgres.newDatabase(), config: configFor(upstream.base, 'chat') })
  here = one(fleet.replicas, 0)
  there = one(fleet.replicas, 1)
}, START_MS_MAX)
afterAll(async () => {
  await fleet.stop()
  await upstream.stop()
  await postgres.stop()
})

const statusOf = async (duet: Duet, { key }: Caller): Promise<number> =>
  (await post(duet, CHAT, { model: 'acme/swift-2', messages: user('Hi') }, { key })).status

const BACK_MS_MAX = 20_000

test('changes are seen, limits hold, and nobody was taken for a stranger', async () => {
  const [caller, limited] = [await newCaller(here), await newCaller(here, { max_per_minute: 2 })]
  for (const duet of [here, there]) expect(await statusOf(duet, caller)).toBe(200)
  expect([await statusOf(here, limited), await statusOf(there, limited)]).toEqual([200, 200])
  const answers: number[] = []
  let isOver = false
  const busy = [here, there].map(async duet => {
    while (!isOver) answers.push(await statusOf(duet, caller))
  })
  await postgres.restart('immediate')
  for (const duet of [here, there]) {
    await soon(
      () => statusOf(duet, caller),
      status => status === 200,
      BACK_MS_MAX,
    )
  }
  isOver = true
  await Promise.all(busy)
  expect(answers.filter(status => status !== 200 && status !== 503)).toEqual([])

  // What was said before the crash is lost, and said again.
  await soon(
    () => fleet.query(`SELECT 1 FROM key_uses WHERE key_id = '${limited.keyId}'`).catch(() => []),
    rows => rows.length === 2,
  )
  await Bun.sleep(1_000)
  expect([await statusOf(here, limited), await statusOf(there, limited)]).toEqual([429, 429])
  const changed = await here.admin('PATCH', `/api/keys/${caller.keyId}`, { models: ['acme/other'] })
  expect(changed.status).toBe(200)
  await soon(
    () => statusOf(there, caller),
    status => status === 403,
  )
}, 60_000)
