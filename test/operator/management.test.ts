import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, post, send, user } from '../support/http.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

let made = 0
const newAccount = async (balance?: string) =>
  (await duet.admin('POST', '/api/accounts', { name: `account ${++made}`, balance })).body
const newKey = async (account: string, limits: object = {}) =>
  (await duet.admin('POST', '/api/keys', { account, name: 'a key', ...limits })).body
const call = (key: string, model = 'openai/gpt-4.1') => post(duet, CHAT, { model, messages: user('Hello') }, { key })

describe('accounts', () => {
  test('are created with a balance and show what is held and spent', async () => {
    const { status, body } = await duet.admin('POST', '/api/accounts', {
      name: 'team a',
      group: 'default',
      balance: '12.5',
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^acc_/),
      name: 'team a',
      group: 'default',
      balance: '12.50',
      held: '0.00',
      spent: '0.00',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect((await duet.admin('GET', `/api/accounts/${body.id}`)).body).toEqual(body)
    expect((await duet.admin('GET', '/api/accounts')).body.data).toContainEqual(body)
  })

  test('with a name that is taken are 409', async () => {
    const { status, body } = await duet.admin('POST', '/api/accounts', { name: 'default' })
    expect([status, body.error.code, body.error.param]).toEqual([409, 'conflict', 'name'])
  })

  test('that do not exist are 404', async () => {
    expect((await duet.admin('GET', '/api/accounts/acc_none')).status).toBe(404)
    expect((await duet.admin('POST', '/api/accounts/acc_none/topups', { amount: '1' })).status).toBe(404)
  })

  test('are listed in pages', async () => {
    const seen: string[] = []
    for (let next: string | null = ''; next !== null; ) {
      const { body } = await duet.admin('GET', `/api/accounts?limit=1${next ? `&cursor=${next}` : ''}`)
      expect(body.data).toHaveLength(1)
      seen.push(body.data[0].id)
      next = body.next
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toContain('default')
  })
})

describe('top-ups', () => {
  test('add to the balance at once, and the same source is applied once', async () => {
    const { id } = await newAccount()
    const body = { amount: '5.25', source: 'invoice-7', note: 'first' }
    expect((await duet.admin('POST', `/api/accounts/${id}/topups`, body)).status).toBe(201)
    expect((await duet.admin('POST', `/api/accounts/${id}/topups`, body)).status).toBe(200)
    expect((await duet.admin('GET', `/api/accounts/${id}`)).body.balance).toBe('5.25')
    const other = await newAccount()
    expect((await duet.admin('POST', `/api/accounts/${other.id}/topups`, body)).status).toBe(201)
  })

  test('without a source are each applied', async () => {
    const { id } = await newAccount()
    await duet.admin('POST', `/api/accounts/${id}/topups`, { amount: '1' })
    await duet.admin('POST', `/api/accounts/${id}/topups`, { amount: '1' })
    expect((await duet.admin('GET', `/api/accounts/${id}`)).body.balance).toBe('2.00')
  })

  for (const amount of ['0', '-1', 'ten', '1.0000000001', '1e3', null, [], '99999999999']) {
    test(`of ${JSON.stringify(amount)} are 422`, async () => {
      const { status, body } = await duet.admin('POST', '/api/accounts/default/topups', { amount })
      expect([status, body.error.code, body.error.param]).toEqual([422, 'invalid_field', 'amount'])
    })
  }
})

describe('entries', () => {
  test('tell every change of the balance, newest first, and sum up to it', async () => {
    const { id } = await newAccount('1')
    const { key } = await newKey(id)
    for (let calls = 0; calls < 3; calls++) expect((await call(key)).status).toBe(200)
    const { body: account } = await duet.admin('GET', `/api/accounts/${id}`)
    const { body: first } = await duet.admin('GET', `/api/accounts/${id}/entries?limit=3`)
    const { body: rest } = await duet.admin('GET', `/api/accounts/${id}/entries?cursor=${first.next}`)
    const entries = [...first.data, ...rest.data]
    expect(entries.map(({ kind }) => kind)).toEqual(['charge', 'charge', 'charge', 'topup'])
    expect(entries[0].balance).toBe(account.balance)
    const sum = entries.reduce((total, { amount }) => total + BigInt(Math.round(Number(amount) * 1e9)), 0n)
    expect(Number(sum) / 1e9).toBe(Number(account.balance))
    expect(Number(account.spent)).toBeCloseTo(1 - Number(account.balance), 9)
  })
})

describe('keys', () => {
  test('are shown once, then only by their hint', async () => {
    const { id } = await newAccount('1')
    const created = await newKey(id)
    expect(created.key).toMatch(/^sk-duet-[A-Za-z0-9_-]{43}$/)
    const shown = await duet.admin('GET', `/api/keys/${created.id}`)
    expect(shown.body.key).toBeUndefined()
    expect(shown.body).toMatchObject({
      account: id,
      name: 'a key',
      enabled: true,
      cap: null,
      models: null,
      expires_at: null,
    })
    expect(shown.body.hint).not.toContain(created.key.slice(12, -4))
    const listed = await duet.admin('GET', `/api/keys?account=${id}`)
    expect(listed.body.data).toEqual([shown.body])
  })

  test('tell what was spent, what remains, and when they were last used', async () => {
    const { id } = await newAccount('1')
    const created = await newKey(id, { cap: '0.5' })
    expect((await call(created.key)).status).toBe(200)
    const { body } = await duet.admin('GET', `/api/keys/${created.id}`)
    expect(Number(body.spent)).toBeGreaterThan(0)
    expect(Number(body.remaining)).toBeCloseTo(0.5 - Number(body.spent), 9)
    expect(Date.parse(body.last_used_at)).toBeGreaterThan(Date.now() - 60_000)
  })

  test('obey a change at once: cap, models, expiry, enabled', async () => {
    const { id } = await newAccount('1')
    const { id: keyId, key } = await newKey(id)
    const change = (changes: object) => duet.admin('PATCH', `/api/keys/${keyId}`, changes)
    const outcome = async () => {
      const { status, body } = await call(key)
      return [status, body.error?.code ?? 'ok']
    }
    await change({ cap: '0' })
    expect(await outcome()).toEqual([403, 'pre_consume_token_quota_failed'])
    await change({ cap: null })
    expect(await outcome()).toEqual([200, 'ok'])
    await change({ models: ['openai/gpt-5.2'] })
    expect(await outcome()).toEqual([403, 'model_not_allowed'])
    await change({ models: null })
    await change({ expires_at: '2020-01-01T00:00:00Z' })
    expect(await outcome()).toEqual([401, ''])
    await change({ expires_at: null })
    expect(await outcome()).toEqual([200, 'ok'])
    await change({ enabled: false })
    expect(await outcome()).toEqual([401, ''])
    const { body } = await change({ enabled: true, name: 'renamed' })
    expect(body).toMatchObject({ enabled: true, name: 'renamed', cap: null, models: null, expires_at: null })
    expect(await outcome()).toEqual([200, 'ok'])
  })

  test('are revoked at once, and their history stays', async () => {
    const { id } = await newAccount('1')
    const created = await newKey(id)
    expect((await call(created.key)).status).toBe(200)
    expect((await duet.admin('DELETE', `/api/keys/${created.id}`)).status).toBe(204)
    expect((await call(created.key)).status).toBe(401)
    expect((await duet.admin('DELETE', `/api/keys/${created.id}`)).status).toBe(404)
    const { body } = await duet.admin('GET', `/api/accounts/${id}/entries`)
    expect(body.data[0]).toMatchObject({ kind: 'charge', key: created.id })
  })

  const FAULTS: [param: string, body: object][] = [
    ['account', { name: 'k' }],
    ['account', { account: 'nobody', name: 'k' }],
    ['name', { account: 'default' }],
    ['name', { account: 'default', name: 'x'.repeat(65) }],
    ['cap', { account: 'default', name: 'k', cap: '-1' }],
    ['models', { account: 'default', name: 'k', models: [] }],
    ['expires_at', { account: 'default', name: 'k', expires_at: 'tomorrow' }],
    ['capp', { account: 'default', name: 'k', capp: '1' }],
  ]
  for (const [param, body] of FAULTS) {
    test(`with a faulty ${param} are 422: ${JSON.stringify(body).slice(0, 60)}`, async () => {
      const answer = await duet.admin('POST', '/api/keys', body)
      expect([answer.status, answer.body.error.param]).toEqual([422, param])
    })
  }
})

describe('the catalog', () => {
  test('lists models with their prices and channels, and channels without their credentials', async () => {
    const { body: models } = await duet.admin('GET', '/api/models')
    expect(models.data).toHaveLength(15)
    expect(models.data[0]).toMatchObject({ id: 'openai/gpt-5.2', price: { input: '1.75' }, channels: ['sandbox-chat'] })
    const { body: channels } = await duet.admin('GET', '/api/channels')
    expect(channels.data.map(({ protocol }: { protocol: string }) => protocol)).toEqual(['chat', 'messages'])
    expect(JSON.stringify(channels)).not.toContain('api_key')
  })
})

describe('the door', () => {
  test('is shut without the admin token, with a wrong one, and with an API key', async () => {
    for (const authorization of ['', 'Bearer nonsense', `Bearer ${duet.key}`]) {
      const response = await fetch(`${duet.url}/api/accounts`, { headers: authorization ? { authorization } : {} })
      expect(response.status).toBe(401)
      expect((await response.json()) as object).toEqual({
        error: { code: 'unauthorized', message: expect.any(String) },
      })
    }
  })

  test('answers unknown paths with 404, wrong methods with 405, bad JSON with 400, large bodies with 413', async () => {
    const authorization = `Bearer ${duet.adminToken}`
    const status = async (method: string, path: string, body?: string) =>
      (await fetch(duet.url + path, { method, headers: { authorization }, ...(body === undefined ? {} : { body }) }))
        .status
    expect(await status('GET', '/api/nothing')).toBe(404)
    expect(await status('GET', '/api')).toBe(404)
    expect(await status('PUT', '/api/accounts', '{}')).toBe(405)
    expect(await status('POST', '/api/accounts', '{')).toBe(400)
    expect(await status('POST', '/api/accounts', JSON.stringify({ name: 'x'.repeat(2_000_000) }))).toBe(413)
  })

  test('does not open for browsers of other sites', async () => {
    const response = await fetch(`${duet.url}/api/accounts`, { headers: { origin: 'https://elsewhere.example' } })
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })
})

test('health and metrics need no credential and reveal no secret', async () => {
  for (const path of ['/health/live', '/health/ready']) {
    const response = await fetch(duet.url + path)
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }])
  }
  await send(duet, '/v1/models')
  const metrics = await (await fetch(`${duet.url}/metrics`)).text()
  expect(metrics).toContain('duet_requests_total{protocol="chat",status="200",code="ok"}')
  expect(metrics).not.toContain('sk-duet-')
})

test('nothing that was printed holds a key, a token or a word of a caller', async () => {
  await post(duet, CHAT, { model: 'openai/gpt-4.1', messages: user('a-word-of-a-caller') })
  while (!duet.output().includes('"path":"/v1/chat/completions"')) await Bun.sleep(2)
  const afterBanner = duet.output().slice(duet.output().indexOf('{"time"'))
  for (const secret of [duet.key, duet.adminToken, 'a-word-of-a-caller']) expect(afterBanner).not.toContain(secret)
})
