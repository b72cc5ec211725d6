import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openExchange, sealExchange } from '../../src/core/captures.ts'
import { createSealer } from '../../src/core/seal.ts'
import { type Duet, type JsonBody, newFolder, startDuet } from '../support/duet.ts'
import { type Answer, CHAT, MESSAGES, post, user } from '../support/http.ts'
import { inviteMember } from '../support/people.ts'
import { storedBytes } from '../support/stored.ts'
import { openStoreOf, openTablesOf } from '../support/stores.ts'
import {
  configFor,
  eventStream,
  type ScriptedUpstream,
  scriptUpstream,
  type UpstreamVisit,
} from '../support/upstream.ts'
import { vendorBody, vendorFrames } from '../support/vendor.ts'
import { type Caller, type CallerFields, eventually, idOf, newCaller } from '../support/wire.ts'

const LIMIT_BYTES = 256 * 1024
const DAY_MS = 86_400_000

let duet: Duet
let upstream: ScriptedUpstream
let answer: (visit: UpstreamVisit) => Response | Promise<Response>

const wellOf = ({ body }: UpstreamVisit): Response =>
  body.stream ? eventStream(vendorFrames('chat')) : Response.json(vendorBody('chat'))

beforeAll(async () => {
  upstream = scriptUpstream(visit => answer(visit))
  duet = await startDuet({ config: configFor(upstream.base, 'chat') })
})
afterAll(async () => {
  await duet.stop()
  await upstream.stop()
})

/** A caller whose prompts and answers are stored. */
async function newKeeper(fields: CallerFields = {}, keepDays = 7): Promise<Caller> {
  const caller = await newCaller(duet, fields)
  await keepFor(caller, keepDays)
  return caller
}

async function keepFor({ keyId }: Caller, keepDays: number | null): Promise<JsonBody> {
  const { status, body } = await duet.admin('PATCH', `/api/keys/${keyId}`, { keep_days: keepDays })
  expect([status, body.keep_days]).toEqual([200, keepDays])
  return body
}

const textOf = (content: string, more: object = {}): string =>
  JSON.stringify({ model: 'acme/swift-2', max_tokens: 50, messages: user(content), ...more })

const receiptOf = async (requestId: string): Promise<JsonBody> =>
  (await duet.admin('GET', `/api/usage/${requestId}`)).body

/** What was stored of a request, once it is. */
const captureOf = async (said: Answer): Promise<JsonBody> =>
  (
    await eventually(
      () => receiptOf(idOf(said)),
      ({ capture }) => Boolean(capture),
    )
  ).capture

/** Everything that was to be stored before this is stored now. */
async function settled(): Promise<void> {
  answer = wellOf
  const { key } = await newKeeper()
  expect(await captureOf(await post(duet, CHAT, textOf('the last one'), { key }))).not.toBeNull()
}

describe('a key that stores prompts and answers', () => {
  for (const path of [CHAT, MESSAGES]) {
    for (const stream of [false, true]) {
      test(`has the body as it came and the answer as it went: ${path}${stream ? ', streamed' : ''}`, async () => {
        answer = wellOf
        const { key } = await newKeeper()
        const text = `${textOf('What is kept? 你好', { stream })}\n `
        const before = Date.now()
        const said = await post(duet, path, text, { key })
        expect(said.status).toBe(200)
        const capture = await captureOf(said)
        expect(capture).toEqual({ request: text, response: said.text, is_cut: false, expires_at: expect.any(String) })
        expect(Date.parse(capture.expires_at)).toBeGreaterThanOrEqual(before + 7 * DAY_MS)
        expect(Date.parse(capture.expires_at)).toBeLessThanOrEqual(Date.now() + 7 * DAY_MS)
      })
    }
  }

  test('has what was refused, and in which words', async () => {
    const { key } = await newKeeper({ balance: '0' })
    const said = await post(duet, CHAT, textOf('Let me in'), { key })
    expect(said.status).toBe(403)
    expect(await captureOf(said)).toMatchObject({ request: textOf('Let me in'), response: said.text })
  })

  test('has what is no request at all', async () => {
    const { key } = await newKeeper()
    const said = await post(duet, CHAT, '{"model":', { key })
    expect(said.status).toBe(400)
    expect(await captureOf(said)).toMatchObject({ request: '{"model":', response: said.text })
  })

  test('has what the vendor failed to do', async () => {
    answer = () => Response.json({ error: { message: 'no' } }, { status: 500 })
    const { key } = await newKeeper()
    const said = await post(duet, CHAT, textOf('Do it'), { key })
    expect(said.status).toBe(502)
    expect(await captureOf(said)).toMatchObject({ request: textOf('Do it'), response: said.text })
  })

  test('has of a stream that its caller left what was sent until then', async () => {
    answer = () => eventStream(vendorFrames('chat').slice(0, 2), 'silence')
    const { key, account } = await newKeeper()
    const leaving = new AbortController()
    const body = textOf('Go on', { stream: true })
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(duet.url + CHAT, { method: 'POST', headers, body, signal: leaving.signal })
    const { value } = (await response.body?.getReader().read()) ?? {}
    leaving.abort()
    const first = new TextDecoder().decode(value)
    const [row] = await eventually(
      async () => (await duet.admin('GET', `/api/usage?account=${account}`)).body.data,
      rows => rows.length > 0,
    )
    expect(row.status).toBe('client_gone')
    const { capture } = await eventually(
      () => receiptOf(row.request_id),
      ({ capture }) => Boolean(capture),
    )
    expect(capture.request).toBe(body)
    expect(first).not.toBe('')
    expect(capture.response.startsWith(first)).toBe(true)
  })

  test('has no more than so much of either, up to a whole character, and says that the rest is not there', async () => {
    answer = () => Response.json(vendorBody('chat', '长'.repeat(LIMIT_BYTES)))
    const { key } = await newKeeper()
    const text = textOf('语'.repeat(LIMIT_BYTES))
    const said = await post(duet, CHAT, text, { key })
    const { request, response, is_cut } = await captureOf(said)
    expect(is_cut).toBe(true)
    for (const [kept, whole] of [
      [request, text],
      [response, said.text],
    ]) {
      expect(whole.startsWith(kept)).toBe(true)
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(LIMIT_BYTES)
      expect(Buffer.byteLength(kept)).toBeGreaterThan(LIMIT_BYTES - 4)
    }
  })

  test('has all of what is just as long as may be', async () => {
    answer = wellOf
    const { key } = await newKeeper()
    const text = textOf('x'.repeat(LIMIT_BYTES - textOf('').length))
    expect(text.length).toBe(LIMIT_BYTES)
    expect(await captureOf(await post(duet, CHAT, text, { key }))).toMatchObject({ request: text, is_cut: false })
  })

  test('shows it to those who may see the account, and to nobody else', async () => {
    answer = wellOf
    const [owner, stranger] = [await inviteMember(duet, 'owner'), await inviteMember(duet, 'stranger')]
    await duet.admin('POST', `/api/accounts/${owner.session.account.id}/topups`, { amount: '5' })
    const { body: key } = await owner.call('POST', '/api/keys', { name: 'own' })
    expect((await owner.call('PATCH', `/api/keys/${key.id}`, { keep_days: 7 })).status).toBe(403)
    await duet.admin('PATCH', `/api/keys/${key.id}`, { keep_days: 7 })
    const said = await post(duet, CHAT, textOf('For my eyes'), { key: key.key })
    const capture = await captureOf(said)
    expect((await owner.call('GET', `/api/usage/${idOf(said)}`)).body.capture).toEqual(capture)
    expect((await stranger.call('GET', `/api/usage/${idOf(said)}`)).status).toBe(404)
  })

  test('that is told to stop has nothing any more, from that moment on', async () => {
    answer = wellOf
    const caller = await newKeeper()
    const other = await newKeeper()
    const asked = [1, 2, 3].map(number => post(duet, CHAT, textOf(`number ${number}`), { key: caller.key }))
    const said = await Promise.all(asked)
    const stays = await post(duet, CHAT, textOf('of another'), { key: other.key })
    for (const one of [...said, stays]) expect(await captureOf(one)).not.toBeNull()
    await keepFor(caller, null)
    for (const one of said) expect((await receiptOf(idOf(one))).capture).toBeNull()
    expect((await receiptOf(idOf(stays))).capture).not.toBeNull()
    // Switched on again, it does not remember either.
    await keepFor(caller, 7)
    for (const one of said) expect((await receiptOf(idOf(one))).capture).toBeNull()
  })

  describe('DELETE /api/keys/{id}/captures', () => {
    for (const isRevoked of [false, true]) {
      test(`forgets what was stored for it, ${isRevoked ? 'though it is revoked' : 'and it goes on storing'}`, async () => {
        answer = wellOf
        const [caller, other] = [await newKeeper(), await newKeeper()]
        const said = await post(duet, CHAT, textOf('Forget me'), { key: caller.key })
        const stays = await post(duet, CHAT, textOf('of another'), { key: other.key })
        for (const one of [said, stays]) expect(await captureOf(one)).not.toBeNull()
        if (isRevoked) expect((await duet.admin('DELETE', `/api/keys/${caller.keyId}`)).status).toBe(204)
        expect((await receiptOf(idOf(said))).capture).not.toBeNull()

        expect((await duet.admin('DELETE', `/api/keys/${caller.keyId}/captures`)).status).toBe(204)
        expect((await receiptOf(idOf(said))).capture).toBeNull()
        expect((await receiptOf(idOf(stays))).capture).not.toBeNull()
        if (isRevoked) return
        expect(await captureOf(await post(duet, CHAT, textOf('Keep me'), { key: caller.key }))).not.toBeNull()
      })
    }

    test('is for admins', async () => {
      answer = wellOf
      const owner = await inviteMember(duet, 'forgetter')
      await duet.admin('POST', `/api/accounts/${owner.session.account.id}/topups`, { amount: '5' })
      const { body: key } = await owner.call('POST', '/api/keys', { name: 'own' })
      await duet.admin('PATCH', `/api/keys/${key.id}`, { keep_days: 7 })
      const said = await post(duet, CHAT, textOf('Stay'), { key: key.key })
      expect(await captureOf(said)).not.toBeNull()
      expect((await owner.call('DELETE', `/api/keys/${key.id}/captures`)).status).toBe(403)
      expect((await receiptOf(idOf(said))).capture).not.toBeNull()
    })
  })

  test('that is told to stop while an answer is under way does not store it', async () => {
    const asked = Promise.withResolvers<void>()
    const told = Promise.withResolvers<void>()
    answer = () => {
      asked.resolve()
      return eventStream([vendorFrames('chat')[0] ?? '', told.promise, ...vendorFrames('chat').slice(1)])
    }
    const caller = await newKeeper()
    const saying = post(duet, CHAT, textOf('Go on', { stream: true }), { key: caller.key })
    await asked.promise
    await keepFor(caller, null)
    told.resolve()
    const said = await saying
    expect(said.status).toBe(200)
    await settled()
    await keepFor(caller, 7)
    expect((await receiptOf(idOf(said))).capture).toBeNull()
  })

  test('that is told to store for a shorter time does so with what it has', async () => {
    answer = wellOf
    const caller = await newKeeper({}, 30)
    const said = await post(duet, CHAT, textOf('Not for long'), { key: caller.key })
    const before = Date.parse((await captureOf(said)).expires_at)
    await keepFor(caller, 2)
    expect(Date.parse((await captureOf(said)).expires_at)).toBe(before - 28 * DAY_MS)
    await keepFor(caller, 90)
    expect(Date.parse((await captureOf(said)).expires_at)).toBe(before - 28 * DAY_MS)
  })
})

describe('in a database', () => {
  const SECRETS = ['the prompt of a keeper', 'the prompt of nobody']

  test('nothing of what was stored can be read, and not one byte is there of keys that do not store', async () => {
    const [keeper, nobody] = [await newKeeper(), await newCaller(duet)]
    answer = ({ body }) => Response.json(vendorBody('chat', `answer to ${body.messages[0].content}`))
    const [kept, lost] = [
      await post(duet, CHAT, textOf(SECRETS[0] ?? ''), { key: keeper.key }),
      await post(duet, CHAT, textOf(SECRETS[1] ?? ''), { key: nobody.key }),
    ]
    await captureOf(kept)
    await settled()
    expect((await receiptOf(idOf(lost))).capture).toBeNull()
    expect(await duet.stop()).toBe(0)

    const stored = await storedBytes(duet.folder)
    for (const secret of SECRETS) expect(stored.includes(secret)).toBe(false)
    const tables = await openTablesOf(duet.folder)
    const { key_id } = (await tables.get('SELECT key_id FROM captures WHERE request_id = ?', idOf(kept))) as JsonBody
    expect(key_id).toBe(keeper.keyId)
    expect(await tables.get('SELECT * FROM captures WHERE request_id = ?', idOf(lost))).toBeUndefined()
    await tables.close()
    duet = await duet.restart()
    expect((await receiptOf(idOf(kept))).capture.request).toBe(textOf(SECRETS[0] ?? ''))
  })
})

describe('the time of what is stored', () => {
  const NOW = Date.UTC(2026, 10, 15)
  const sealer = createSealer('the secret of a test')

  async function openStore(folder = newFolder()) {
    const store = await openStoreOf(folder)
    await store.directory.createAccount({ id: 'acc', name: 'acc', group: 'default', createdAt: 0 })
    for (const id of ['week', 'month', 'never']) {
      const limits = { cap: undefined, models: undefined, expiresAt: undefined }
      await store.directory.createKey({
        id,
        accountId: 'acc',
        name: id,
        secretHash: id,
        hint: '',
        createdAt: 0,
        ...limits,
      })
    }
    await store.directory.changeKey('week', { keepDays: 7 })
    await store.directory.changeKey('month', { keepDays: 30 })
    const keep = (requestId: string, keyId: string, createdAt = NOW) => {
      const sealed = sealExchange({ request: requestId, response: keyId }, sealer)
      return store.captures.keep({ requestId, keyId, sealed, isCut: false, createdAt })
    }
    return { ...store, keep }
  }

  test('is that of its key when it is written, and a key without one stores nothing', async () => {
    const store = await openStore()
    for (const key of ['week', 'month', 'never']) await store.keep(`r-${key}`, key)
    const [week, month, never] = await Promise.all(
      ['week', 'month', 'never'].map(key => store.captures.find(`r-${key}`, NOW)),
    )
    expect([week?.expiresAt, month?.expiresAt, never]).toEqual([NOW + 7 * DAY_MS, NOW + 30 * DAY_MS, undefined])
    expect(openExchange(week?.sealed ?? '', sealer)).toEqual({ request: 'r-week', response: 'week' })
    await store.close()
  })

  test('ends to the millisecond, whether it was swept away yet or not', async () => {
    const store = await openStore()
    await store.keep('r', 'week')
    expect(await store.captures.find('r', NOW + 7 * DAY_MS - 1)).toBeDefined()
    expect(await store.captures.find('r', NOW + 7 * DAY_MS)).toBeUndefined()
    await store.close()
  })

  test('once over, it is swept away, however much there is; the rest stays', async () => {
    const store = await openStore()
    for (let number = 0; number < 45; number++) await store.keep(`old-${number}`, 'week', NOW - 8 * DAY_MS)
    await store.keep('new', 'week')
    await store.keep('slow', 'month', NOW - 8 * DAY_MS)
    expect(await store.captures.purge(NOW)).toBe(45)
    expect(await store.captures.purge(NOW)).toBe(0)
    expect(await store.captures.find('new', NOW)).toBeDefined()
    expect(await store.captures.find('slow', NOW)).toBeDefined()
    await store.close()
  })

  test('made shorter, what is older goes and what is younger goes sooner', async () => {
    const store = await openStore()
    for (let number = 0; number < 45; number++) await store.keep(`old-${number}`, 'month', NOW - 8 * DAY_MS)
    await store.keep('new', 'month', NOW - DAY_MS)
    await store.directory.changeKey('month', { keepDays: 3 })
    await store.captures.shorten({ keyId: 'month', keepDays: 3, now: NOW })
    expect(await store.captures.find('old-7', 0)).toBeUndefined()
    expect((await store.captures.find('new', NOW))?.expiresAt).toBe(NOW + 2 * DAY_MS)
    await store.close()
  })

  test('what expired while nobody was there is gone after the next start', async () => {
    const folder = newFolder()
    const first = await startDuet({ folder })
    expect(await first.stop()).toBe(0)
    const store = await openStoreOf(folder)
    const { rows } = await store.directory.keys({ cursor: undefined, limit: 1 })
    const keyId = rows[0]?.id ?? ''
    await store.directory.changeKey(keyId, { keepDays: 1 })
    const capture = { keyId, sealed: sealExchange({ request: '', response: '' }, sealer), isCut: false }
    await store.captures.keep({ ...capture, requestId: 'expired', createdAt: Date.now() - 2 * DAY_MS })
    await store.captures.keep({ ...capture, requestId: 'current', createdAt: Date.now() })
    await store.close()
    const again = await startDuet({ folder })
    expect(await again.stop()).toBe(0)
    const tables = await openTablesOf(folder)
    expect(await tables.all('SELECT request_id FROM captures')).toEqual([{ request_id: 'current' }])
    await tables.close()
  })
})
