import { afterAll, beforeAll, expect, test } from 'bun:test'
import { allPages, dollarsOf, expectVerified, nanosOf } from '../faults/support.ts'
import type { Duet } from '../support/duet.ts'
import { type Answer, CHAT, post, user } from '../support/http.ts'
import { configFor, type ScriptedUpstream, scriptUpstream } from '../support/upstream.ts'
import { vendorBody } from '../support/vendor.ts'
import { balanceOf, type Caller, idOf, newCaller } from '../support/wire.ts'
import { type Fleet, one, START_MS_MAX, soon, startFleet } from './fleet.ts'

/** Three replicas and one purse: nobody gets more than there is by asking everywhere. */

let upstream: ScriptedUpstream
let fleet: Fleet
let gate = Promise.withResolvers<void>()
beforeAll(async () => {
  upstream = scriptUpstream(async () => {
    await gate.promise
    return Response.json(vendorBody('chat'))
  })
  fleet = await startFleet(3, { config: configFor(upstream.base, 'chat') })
}, START_MS_MAX)
afterAll(async () => {
  await fleet.stop()
  await upstream.stop()
})

const MONEY_FOR = 7
const ASKING = 60

const call = (duet: Duet, { key }: Caller): Promise<Answer> =>
  post(duet, CHAT, { model: 'acme/swift-2', messages: user('Hi'), max_tokens: 1000 }, { key })

/** What is taken for one call before it is made. */
async function priceOfAdmission(): Promise<bigint> {
  gate = Promise.withResolvers()
  gate.resolve()
  const duet = one(fleet.replicas, 0)
  const answer = await call(duet, await newCaller(duet))
  const { body } = await duet.admin('GET', `/api/usage/${idOf(answer)}`)
  return nanosOf(body.receipt.hold.amount)
}

/** All at once, everywhere; nothing is given back before everybody was let in or turned away. */
async function ask(caller: Caller): Promise<readonly number[]> {
  gate = Promise.withResolvers()
  const asked = upstream.requests.length
  let refused = 0
  const calls = Array.from({ length: ASKING }, async (_, place) => {
    const { status } = await call(one(fleet.replicas, place % 3), caller)
    if (status !== 200) refused++
    return status
  })
  await soon(
    () => upstream.requests.length - asked + refused,
    decided => decided === ASKING,
    20_000,
  )
  gate.resolve()
  return Promise.all(calls)
}

const letIn = (statuses: readonly number[]): number => statuses.filter(status => status === 200).length

test('a cap that is enough for seven calls lets seven in, of sixty that come everywhere at once', async () => {
  const cap = dollarsOf((await priceOfAdmission()) * BigInt(MONEY_FOR))
  const statuses = await ask(await newCaller(one(fleet.replicas, 0), { cap }))
  expect(letIn(statuses)).toBe(MONEY_FOR)
  expect(statuses.filter(status => status === 403)).toHaveLength(ASKING - MONEY_FOR)
}, 30_000)

test('a balance that is enough for seven calls lets seven in, of sixty that come everywhere at once', async () => {
  const balance = dollarsOf((await priceOfAdmission()) * BigInt(MONEY_FOR))
  const caller = await newCaller(one(fleet.replicas, 0), { balance })
  const statuses = await ask(caller)
  expect(letIn(statuses)).toBe(MONEY_FOR)
  const entries = await allPages(one(fleet.replicas, 1), `/api/accounts/${caller.account}/entries?`)
  expect(entries).toHaveLength(1 + MONEY_FOR)
  await expectVerified(one(fleet.replicas, 2))
}, 30_000)

test('a code is redeemed for one account, wherever it is tried', async () => {
  const duet = one(fleet.replicas, 0)
  const { body } = await duet.admin('POST', '/api/codes', { amount: '5' })
  const { code } = body.data[0]
  const callers = await Promise.all(Array.from({ length: 6 }, () => newCaller(duet, { balance: '1' })))
  const tries = callers.map(({ account }, place) =>
    one(fleet.replicas, place % 3).admin('POST', '/api/codes/redeem', { code, account }),
  )
  const statuses = (await Promise.all(tries)).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([201, 409, 409, 409, 409, 409])
  const balances = await Promise.all(callers.map(({ account }) => balanceOf(one(fleet.replicas, 1), account)))
  expect(balances.toSorted()).toEqual(['1.00', '1.00', '1.00', '1.00', '1.00', '6.00'])
})
