import { afterEach, beforeEach, expect, test } from 'bun:test'
import { dollars } from '../../src/core/money.ts'
import { openTarget, sealTarget } from '../../src/core/notices.ts'
import { createSealer } from '../../src/core/seal.ts'
import type { Store } from '../../src/core/store.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { Notifier } from '../../src/notices/notifier.ts'
import { newFolder } from '../support/duet.ts'
import { openStoreOf } from '../support/stores.ts'
import { signatureOf, startWebhook, type Webhook } from '../support/webhook.ts'

const MINUTE_MS = 60_000
const ACCOUNT = 'acc_1'
const SECRET = 'a-secret-of-this-test'
const sealer = createSealer('the secret of this machine')

let now = 0
let store: Store
let ledger: Ledger
let webhook: Webhook
let notifier: Notifier

const clock = () => now

beforeEach(async () => {
  now = Date.parse('2026-11-15T08:00:00Z')
  store = await openStoreOf(newFolder())
  ledger = new Ledger(store.ledger, { owner: 'test', clock })
  webhook = startWebhook()
  notifier = newNotifier()
  await store.directory.createAccount({ id: ACCOUNT, name: 'team-a', group: 'default', createdAt: now })
})

afterEach(async () => {
  await webhook.stop()
  await store.close()
})

const newNotifier = () =>
  new Notifier({ notices: store.notices, sealer, clock, consoleUrl: () => 'http://console.test' })

const setNotice = (url = `${webhook.url}/hook?token=hidden`) =>
  store.notices.set({ accountId: ACCOUNT, threshold: dollars(5), sealed: sealTarget({ url, secret: SECRET }, sealer) })

let deposits = 0
const add = (whole: number) =>
  ledger.deposit({
    ...{ kind: 'adjustment', accountId: ACCOUNT, amount: dollars(whole), source: `test-${++deposits}` },
    ...{ note: 'test', at: now },
  })

const failing = () => webhook.answer(() => new Response('no', { status: 503 }))
const well = () => webhook.answer(() => new Response('thanks'))
const state = async () => {
  const notice = await store.notices.notice(ACCOUNT)
  return [notice?.toldAt, notice?.failures, notice?.error]
}

test('a balance at its threshold is not told, one below it is told once, signed', async () => {
  await setNotice()
  await add(5)
  expect(await notifier.check()).toEqual([])
  await add(-1)
  expect(await notifier.check()).toEqual([{ account: ACCOUNT, to: webhook.url, error: undefined }])
  const [{ method, path, headers, text, body } = expect.unreachable()] = webhook.deliveries
  expect([method, path, headers.get('content-type')]).toEqual(['POST', '/hook?token=hidden', 'application/json'])
  expect(headers.get('x-duet-signature')).toBe(signatureOf(SECRET, text))
  expect(body).toEqual({
    event: 'balance.low',
    account: { id: ACCOUNT, name: 'team-a' },
    balance: '4.00',
    threshold: '5.00',
    at: new Date(now).toISOString(),
    console: 'http://console.test',
  })
  now += 24 * 60 * MINUTE_MS
  await add(-1)
  expect(await notifier.check()).toEqual([])
  expect(webhook.deliveries).toHaveLength(1)
})

test('a balance that recovered and fell again is told again', async () => {
  await setNotice()
  await add(4)
  await notifier.check()
  expect(await state()).toEqual([now, 0, undefined])
  await add(1)
  await notifier.check()
  expect(await state()).toEqual([undefined, 0, undefined])
  await add(-1)
  await notifier.check()
  expect(webhook.deliveries.map(({ body }) => body.balance)).toEqual(['4.00', '4.00'])
})

test('a delivery that fails is tried again after 1, 2, 4, ... minutes, eight times, and then given up', async () => {
  failing()
  await setNotice()
  const start = now
  const minutes: number[] = []
  while (now < start + 600 * MINUTE_MS) {
    const [told] = await notifier.check()
    if (told) minutes.push((now - start) / MINUTE_MS)
    now += MINUTE_MS / 2
  }
  expect(minutes).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255])
  expect(webhook.deliveries).toHaveLength(9)
  expect(await state()).toEqual([undefined, 9, 'answered with status 503'])
})

test('a retry that arrives ends the retries, and the failures are forgotten', async () => {
  failing()
  await setNotice()
  await notifier.check()
  await notifier.check()
  expect(webhook.deliveries).toHaveLength(1)
  well()
  now += MINUTE_MS
  await notifier.check()
  expect(await state()).toEqual([now, 0, undefined])
  now += 10 * MINUTE_MS
  await notifier.check()
  expect(webhook.deliveries).toHaveLength(2)
})

test('after a recovery there are as many tries as before, and the last failure stays to be seen', async () => {
  failing()
  await setNotice()
  await notifier.check()
  await add(10)
  await notifier.check()
  expect(await state()).toEqual([undefined, 1, 'answered with status 503'])
  await add(-10)
  // At once, though the pause of the first failure is not over.
  expect(await notifier.check()).toHaveLength(1)
  now += MINUTE_MS
  expect(await notifier.check()).toHaveLength(1)
  expect((await state())[1]).toBe(3)
})

test('what is to be tried again survives a restart', async () => {
  failing()
  await setNotice()
  await notifier.check()
  const next = newNotifier()
  expect(await next.check()).toEqual([])
  now += MINUTE_MS
  expect(await next.check()).toHaveLength(1)
})

test('a redirect is not followed and counts as a failure', async () => {
  const elsewhere = startWebhook()
  webhook.answer(() => Response.redirect(`${elsewhere.url}/taken`, 307))
  await setNotice()
  await notifier.check()
  expect(await state()).toEqual([undefined, 1, 'answered with status 307'])
  expect(elsewhere.deliveries).toEqual([])
  await elsewhere.stop()
})

test('a webhook that nobody serves is a failure that does not repeat the address', async () => {
  await setNotice()
  await webhook.stop()
  const [told] = await notifier.check()
  expect(told?.error).toStartWith('no connection')
  expect(JSON.stringify([told, await state()])).not.toContain('hidden')
})

test('an answer without an end is not waited for', async () => {
  const endless = async function* () {
    for (;;) {
      yield new Uint8Array(65_536)
      await Bun.sleep(1)
    }
  }
  webhook.answer(() => new Response(endless()))
  await setNotice()
  await notifier.check()
  expect(await state()).toEqual([now, 0, undefined])
})

test('a webhook that does not answer is not waited for', async () => {
  webhook.answer(() => new Promise(() => {}))
  const deps = { notices: store.notices, sealer, clock, consoleUrl: () => '' }
  await setNotice()
  await new Notifier({ ...deps, deliveryMsMax: 20 }).check()
  expect(await state()).toEqual([undefined, 1, 'no answer in time'])
})

test('looks that overlap tell it once', async () => {
  await setNotice()
  await Promise.all([notifier.check(), notifier.check(), notifier.check()])
  expect(webhook.deliveries).toHaveLength(1)
})

test('a delivery that a stop cuts off is not held against the webhook', async () => {
  webhook.answer(() => new Promise(() => {}))
  await setNotice()
  const checking = notifier.check()
  await webhook.arrived(1)
  await notifier.stop()
  await checking
  expect(await state()).toEqual([undefined, 0, undefined])
})

test('a notice that is set anew while the old one is delivered has told nothing yet', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<Response>()
  webhook.answer(() => answered)
  await setNotice()
  const checking = notifier.check()
  await webhook.arrived(1)
  await setNotice(`${webhook.url}/new`)
  answer(new Response('thanks'))
  await checking
  expect(await state()).toEqual([undefined, 0, undefined])
  well()
  await notifier.check()
  expect(webhook.deliveries.map(({ path }) => path)).toEqual(['/hook?token=hidden', '/new'])
})

test('an address that was sealed with another secret is not guessed, and the notice says what to do', async () => {
  const { sealed } = await setNotice()
  const other = createSealer('another secret')
  expect(openTarget(sealed, other)).toBeUndefined()
  const stranger = new Notifier({ notices: store.notices, sealer: other, clock, consoleUrl: () => '' })
  const [told] = await stranger.check()
  expect(told?.error).toContain('set it anew')
  expect(webhook.deliveries).toEqual([])
})
