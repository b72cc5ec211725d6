import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { type Answer, CHAT, MESSAGES, post, send } from '../support/http.ts'
import {
  ask,
  type CallerFields,
  eventually,
  expectError,
  newCaller,
  PATHS,
  PROTOCOLS,
  type ProtocolName,
  UPSTREAMS,
} from '../support/wire.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

const MODEL = UPSTREAMS[0].model
const OTHER_MODEL = UPSTREAMS[1].model
const UNKNOWN_KEY = `sk-duet-${'x'.repeat(43)}`

const ENDPOINTS = [
  { endpoint: 'POST /chat/completions', protocol: 'chat', body: ask('chat', MODEL, 'Hi') },
  { endpoint: 'POST /messages', protocol: 'messages', body: ask('messages', MODEL, 'Hi') },
  { endpoint: 'GET /models', protocol: 'chat', body: undefined },
] as const

type Endpoint = (typeof ENDPOINTS)[number]

/** A call with exactly these headers. */
function callWith({ endpoint, body }: Endpoint, headers: Record<string, string>): Promise<Answer> {
  const [method = '', path = ''] = endpoint.split(' ')
  const init = body ? { method, body: JSON.stringify(body) } : { method }
  return send(duet, `/v1${path}`, { ...init, headers, key: null })
}

const hi = (protocol: ProtocolName, key: string, model: string = MODEL) =>
  post(duet, PATHS[protocol], ask(protocol, model, 'Hi'), { key })

function expectInvalidToken(answer: Answer, protocol: ProtocolName): void {
  const wanted = { type: 'duet_api_error' as const, code: '', message: 'Invalid token', param: null }
  expectError(answer, { status: 401, protocol, ...wanted })
}

const WAYS = [
  { way: 'Authorization: Bearer <key>', headers: (key: string) => ({ authorization: `Bearer ${key}` }) },
  { way: 'Authorization: <key>', headers: (key: string) => ({ authorization: key }) },
  { way: 'x-api-key: <key>', headers: (key: string) => ({ 'x-api-key': key }) },
]

describe('5: the credential', () => {
  for (const row of ENDPOINTS) {
    for (const { way, headers } of WAYS) {
      test(`5: ${row.endpoint} accepts ${way}`, async () => {
        expect((await callWith(row, headers(duet.key))).status).toBe(200)
      })

      test(`5.3: ${row.endpoint} refuses an unknown key in ${way}`, async () => {
        expectInvalidToken(await callWith(row, headers(UNKNOWN_KEY)), row.protocol)
      })
    }

    test(`5.3: ${row.endpoint} refuses an absent credential`, async () => {
      expectInvalidToken(await callWith(row, {}), row.protocol)
    })

    for (const headers of [{ authorization: 'Bearer' }, { authorization: 'Bearer  ' }, { 'x-api-key': '' }]) {
      test(`5.3: ${row.endpoint} refuses the empty credential ${JSON.stringify(headers)}`, async () => {
        expectInvalidToken(await callWith(row, headers), row.protocol)
      })
    }

    test(`5: where both headers are there, the protocol's own one wins on ${row.endpoint}`, async () => {
      const apiKeyWins = row.endpoint === 'POST /messages'
      const bearer = (key: string) => `Bearer ${key}`
      const good = await callWith(row, {
        'x-api-key': apiKeyWins ? duet.key : UNKNOWN_KEY,
        authorization: bearer(apiKeyWins ? UNKNOWN_KEY : duet.key),
      })
      const bad = await callWith(row, {
        'x-api-key': apiKeyWins ? UNKNOWN_KEY : duet.key,
        authorization: bearer(apiKeyWins ? duet.key : UNKNOWN_KEY),
      })
      expect(good.status).toBe(200)
      expectInvalidToken(bad, row.protocol)
    })
  }

  test('5.1: a key looks like sk-duet-<43 url-safe characters>, and no two are alike', async () => {
    const keys = await Promise.all(Array.from({ length: 5 }, async () => (await newCaller(duet)).key))
    for (const key of keys) expect(key).toMatch(/^sk-duet-[A-Za-z0-9_-]{43}$/)
    expect(new Set(keys).size).toBe(5)
  })

  test('5.1: a new key works at once, the same one for both protocols and the list', async () => {
    const { key } = await newCaller(duet)
    for (const row of ENDPOINTS) expect((await callWith(row, { authorization: `Bearer ${key}` })).status).toBe(200)
  })

  test('5.3: part of a key, or more than it, is an unknown key', async () => {
    const { key } = await newCaller(duet)
    for (const wrong of [key.slice(0, -1), `${key}x`, key.slice('sk-duet-'.length), key.toUpperCase()]) {
      expectInvalidToken(await hi('chat', wrong), 'chat')
    }
  })

  test('5.3: the admin token is no key', async () => {
    expectInvalidToken(await hi('chat', duet.adminToken), 'chat')
  })
})

describe('5.3: the end of a key', () => {
  for (const protocol of PROTOCOLS) {
    test(`5.3: a revoked key is refused at once (${protocol})`, async () => {
      const { key, keyId } = await newCaller(duet)
      expect((await hi(protocol, key)).status).toBe(200)
      expect((await duet.admin('DELETE', `/api/keys/${keyId}`)).status).toBe(204)
      expectInvalidToken(await hi(protocol, key), protocol)
    })

    test(`5.3: a key expires at its time (${protocol})`, async () => {
      const expiresAt = new Date(Date.now() + 400)
      const { key } = await newCaller(duet, { expires_at: expiresAt.toISOString() })
      expect((await hi(protocol, key)).status).toBe(200)
      const refused = await eventually(
        () => hi(protocol, key),
        ({ status }) => status !== 200,
      )
      expect(Date.now()).toBeGreaterThanOrEqual(expiresAt.getTime())
      expectInvalidToken(refused, protocol)
    })

    test(`5.3: a changed expiry is effective at once (${protocol})`, async () => {
      const { key, keyId } = await newCaller(duet, { expires_at: '2099-01-01T00:00:00Z' })
      expect((await hi(protocol, key)).status).toBe(200)
      await duet.admin('PATCH', `/api/keys/${keyId}`, { expires_at: '2020-01-01T00:00:00Z' })
      expectInvalidToken(await hi(protocol, key), protocol)
      await duet.admin('PATCH', `/api/keys/${keyId}`, { expires_at: null })
      expect((await hi(protocol, key)).status).toBe(200)
    })
  }

  test('5.3: one key that ends leaves the other keys of the account alone', async () => {
    const { account, keyId } = await newCaller(duet)
    const { body } = await duet.admin('POST', '/api/keys', { account, name: 'second' })
    await duet.admin('DELETE', `/api/keys/${keyId}`)
    expect((await hi('chat', body.key)).status).toBe(200)
  })

  test('5.3: absent, unknown, revoked and expired get one and the same answer', async () => {
    const revoked = await newCaller(duet)
    await duet.admin('DELETE', `/api/keys/${revoked.keyId}`)
    const expired = await newCaller(duet)
    await duet.admin('PATCH', `/api/keys/${expired.keyId}`, { expires_at: '2020-01-01T00:00:00Z' })
    for (const { path, protocol } of [
      { path: CHAT, protocol: 'chat' as const },
      { path: MESSAGES, protocol: 'messages' as const },
    ]) {
      const answers = await Promise.all(
        [null, UNKNOWN_KEY, revoked.key, expired.key].map(key => post(duet, path, ask(protocol, MODEL, 'Hi'), { key })),
      )
      expect(new Set(answers.map(withoutId)).size).toBe(1)
    }
  })
})

const withoutId = ({ status, headers, text }: Answer) =>
  JSON.stringify([status, text, [...headers].filter(([name]) => name !== 'date')]).replaceAll(
    headers.get('x-request-id') ?? '',
    '',
  )

describe('5.4: the cap of a key', () => {
  const CAP_MESSAGE = /^token quota is not enough, token remain quota: ＄0\.000001, need quota: ＄\d+\.\d{6}$/
  const WANTED = { status: 403, code: 'pre_consume_token_quota_failed', type: 'duet_api_error' } as const
  const capped = (fields: CallerFields = {}) => newCaller(duet, { balance: '10', cap: '0.000001', ...fields })

  for (const protocol of PROTOCOLS) {
    test(`5.4: exceeding it gives 403 pre_consume_token_quota_failed (${protocol})`, async () => {
      const { key } = await capped()
      expectError(await hi(protocol, key), { ...WANTED, message: CAP_MESSAGE, protocol })
    })

    for (const { change, cap } of [
      { change: 'raised', cap: '5' },
      { change: 'removed', cap: null },
    ]) {
      test(`5.4: a cap that is ${change} is effective at once (${protocol})`, async () => {
        const { key, keyId } = await capped()
        expectError(await hi(protocol, key), WANTED)
        expect((await duet.admin('PATCH', `/api/keys/${keyId}`, { cap })).status).toBe(200)
        expect((await hi(protocol, key)).status).toBe(200)
      })
    }

    test(`5.4: a key without a cap of the same account works (${protocol})`, async () => {
      const { account, key } = await capped()
      expectError(await hi(protocol, key), WANTED)
      const { body } = await duet.admin('POST', '/api/keys', { account, name: 'without a cap' })
      expect((await hi(protocol, body.key)).status).toBe(200)
    })
  }
})

describe('the models of a key', () => {
  const WANTED = { status: 403, code: 'model_not_allowed', type: 'duet_api_error' } as const

  for (const protocol of PROTOCOLS) {
    test(`order 7: a key may use the models it was made for, and no other: 403 model_not_allowed (${protocol})`, async () => {
      const { key } = await newCaller(duet, { models: [MODEL] })
      expect((await hi(protocol, key)).status).toBe(200)
      expectError(await hi(protocol, key, OTHER_MODEL), { ...WANTED, protocol })
    })

    test(`order 7: a changed list of models is effective at once (${protocol})`, async () => {
      const { key, keyId } = await newCaller(duet, { models: [MODEL] })
      const allow = (models: readonly string[] | null) => duet.admin('PATCH', `/api/keys/${keyId}`, { models })
      await allow([OTHER_MODEL])
      expectError(await hi(protocol, key), WANTED)
      expect((await hi(protocol, key, OTHER_MODEL)).status).toBe(200)
      await allow(null)
      expect((await hi(protocol, key)).status).toBe(200)
    })
  }
})
