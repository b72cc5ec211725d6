import { afterAll, beforeAll, expect, test } from 'bun:test'
import { dollars } from '../../src/core/money.ts'
import { sealTarget } from '../../src/core/notices.ts'
import { createSealer } from '../../src/core/seal.ts'
import type { Store } from '../../src/core/store.ts'
import { CLAIM_MS, Notifier } from '../../src/notices/notifier.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { newDatabase } from '../support/databases.ts'
import { startWebhook, type Webhook } from '../support/webhook.ts'
import { START_MS_MAX } from './fleet.ts'

/** A low balance is told by one of all who look. */

const sealer = createSealer('the secret of all replicas')
const LOOKING = 4

let stores: Store[]
let webhook: Webhook
let now = Date.parse('2026-11-15T08:00:00Z')
beforeAll(async () => {
  const url = await newDatabase()
  stores = await Promise.all(Array.from({ length: LOOKING }, () => openPostgres({ url })))
  webhook = startWebhook()
}, START_MS_MAX)
afterAll(async () => {
  await webhook.stop()
  await Promise.all(stores.map(store => store.close()))
})

const notifierOn = ({ notices }: Store) =>
  new Notifier({ notices, sealer, clock: () => now, claimMs: CLAIM_MS, consoleUrl: () => 'http://console.test' })

let accounts = 0

/** An account without money, and somebody who wants to know. */
async function beLow(): Promise<void> {
  const [{ directory, notices } = expect.unreachable()] = stores
  const accountId = `acc_${++accounts}`
  await directory.createAccount({ id: accountId, name: accountId, group: 'default', createdAt: now })
  const sealed = sealTarget({ url: webhook.url, secret: 'secret' }, sealer)
  await notices.set({ accountId, threshold: dollars(5), sealed })
}

const lookEverywhere = async () => (await Promise.all(stores.map(store => notifierOn(store).check()))).flat()

test('however many look at the same moment', async () => {
  for (let round = 1; round <= 10; round++) {
    await beLow()
    expect(await lookEverywhere()).toHaveLength(1)
    expect(webhook.deliveries).toHaveLength(round)
  }
})

test('and while one of them is still telling it, by nobody else', async () => {
  await beLow()
  const before = webhook.deliveries.length
  const { promise, resolve } = Promise.withResolvers<Response>()
  webhook.answer(() => promise)
  const [first = expect.unreachable()] = stores
  const telling = notifierOn(first).check()
  await webhook.arrived(before + 1)
  now += 30_000
  expect(await lookEverywhere()).toEqual([])
  resolve(new Response('thanks'))
  expect(await telling).toHaveLength(1)
  webhook.answer(() => new Response('thanks'))
  expect(webhook.deliveries).toHaveLength(before + 1)
})

test('and if that one is gone, by another a minute later', async () => {
  await beLow()
  const [{ notices } = expect.unreachable()] = stores
  // Whoever has claimed it and says nothing of it any more.
  expect(await notices.due({ now, claimedUntil: now + CLAIM_MS, triesMax: 1, limit: 10 })).toHaveLength(1)
  expect(await lookEverywhere()).toEqual([])
  now += CLAIM_MS
  expect(await lookEverywhere()).toHaveLength(1)
})
