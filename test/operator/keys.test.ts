import { describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { newKey } from '../../src/core/key.ts'
import { dollars } from '../../src/core/money.ts'
import { databasePath } from '../../src/open-store.ts'
import { amountOf, answering, costOf, dollarsOf, gate, PROMPT, QUESTION, useLedger } from '../ledger/stage.ts'
import { STORE } from '../support/databases.ts'
import { type Duet, newFolder, startDuet } from '../support/duet.ts'
import { type Answer, CHAT, MESSAGES, post, send, user } from '../support/http.ts'
import { openStoreOf, openTablesOf } from '../support/stores.ts'
import { type Caller, expectError, newCaller } from '../support/wire.ts'

const stage = useLedger()

interface Asked {
  readonly path?: string
  readonly fields?: object
}

const call = ({ key }: Pick<Caller, 'key'>, { path = CHAT, fields = {} }: Asked = {}): Promise<Answer> =>
  post(stage.duet, path, { model: 'acme/chat', messages: user(QUESTION), max_tokens: 100, ...fields }, { key })

const change = async ({ keyId }: Caller, changes: object) => {
  const { status, body } = await stage.duet.admin('PATCH', `/api/keys/${keyId}`, changes)
  expect(status).toBe(200)
  return body
}
const show = async ({ keyId }: Caller) => (await stage.duet.admin('GET', `/api/keys/${keyId}`)).body

/** An upstream that thinks until the door is opened, and then counts as it is told. */
function thinking(usage = { input: PROMPT, output: 100 }) {
  const { open, opened } = gate()
  stage.answer = async visit => {
    await opened
    return answering(usage)(visit)
  }
  return open
}

async function underWay(caller: Caller, fields: object = {}): Promise<Promise<Answer>[]> {
  const before = stage.visits.length
  const answer = call(caller, { fields })
  while (stage.visits.length === before) await Bun.sleep(2)
  // In a list, because a promise that an async function returns would be waited for.
  return [answer]
}

const UNKNOWN_KEY = { status: 401, code: '', type: 'duet_api_error', message: 'Invalid token', param: null } as const
const ONE = costOf({ input: PROMPT, output: 100 })

describe('a key for some models', () => {
  test('is refused others, on both protocols and with streams', async () => {
    stage.answer = answering({ input: 1, output: 1 })
    const caller = await newCaller(stage.duet, { models: ['acme/messages'] })
    const visits = stage.visits.length
    for (const path of [CHAT, MESSAGES]) {
      for (const stream of [false, true]) {
        const answer = await call(caller, { path, fields: { stream } })
        expectError(answer, { status: 403, code: 'model_not_allowed', param: 'model' })
      }
    }
    expect(stage.visits.length).toBe(visits)
    expect((await call(caller, { fields: { model: 'acme/messages' } })).status).toBe(200)
  })

  test('is shown only those', async () => {
    const { key } = await newCaller(stage.duet, { models: ['acme/messages', 'acme/odd'] })
    const { body } = await send(stage.duet, '/v1/models', { key })
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(['acme/messages', 'acme/odd'])
    expect([body.first_id, body.last_id]).toEqual(['acme/messages', 'acme/odd'])
    expect((await send(stage.duet, '/v1/models/acme/messages', { key })).status).toBe(200)
    expect((await send(stage.duet, '/v1/models/acme/chat', { key })).status).toBe(404)
  })

  test('is for others from the next call on, and for all when the list is removed', async () => {
    stage.answer = answering({ input: 1, output: 1 })
    const caller = await newCaller(stage.duet, { models: ['acme/messages'] })
    expect((await call(caller)).status).toBe(403)
    expect((await change(caller, { models: ['acme/chat'] })).models).toEqual(['acme/chat'])
    expect((await call(caller)).status).toBe(200)
    expect((await call(caller, { fields: { model: 'acme/messages' } })).status).toBe(403)
    expect((await change(caller, { models: null })).models).toBeNull()
    expect((await call(caller, { fields: { model: 'acme/messages' } })).status).toBe(200)
  })

  const NAMES = (count: number) => Array.from({ length: count }, (_, number) => `acme/${number}`)
  const LISTS: readonly [what: string, models: readonly string[], isTaken: boolean][] = [
    ['200 names', NAMES(200), true],
    ['201 names', NAMES(201), false],
    ['a name of 200 characters', ['x'.repeat(200)], true],
    ['a name of 201 characters', ['acme/fine', 'x'.repeat(201)], false],
    ['no name at all', [], false],
    ['an empty name', [''], false],
  ]
  for (const [what, models, isTaken] of LISTS) {
    test(`${isTaken ? 'may' : 'may not'} have ${what}, when it is made and when it is changed`, async () => {
      const { account, keyId } = await newCaller(stage.duet)
      const made = await stage.duet.admin('POST', '/api/keys', { account, name: 'limited', models })
      const changed = await stage.duet.admin('PATCH', `/api/keys/${keyId}`, { models })
      expect([made.status, changed.status]).toEqual(isTaken ? [201, 200] : [422, 422])
      for (const { body } of isTaken ? [] : [made, changed]) expect(body.error.param).toMatch(/^models\b/)
      expect((await show({ account, keyId, key: '' })).models).toEqual(isTaken ? models : null)
    })
  }

  test('a call under way when its model is taken away goes on to its end', async () => {
    const caller = await newCaller(stage.duet)
    const open = thinking()
    const [answer] = await underWay(caller)
    await change(caller, { models: ['acme/messages'] })
    open()
    expect((await answer)?.status).toBe(200)
    expect((await call(caller)).status).toBe(403)
  })
})

describe('a key that expires', () => {
  test('is, from then on, as unknown as one that never was', async () => {
    stage.answer = answering({ input: 1, output: 1 })
    const expires = Date.now() + 1_000
    const caller = await newCaller(stage.duet, { expires_at: new Date(expires).toISOString() })
    expect((await show(caller)).expires_at).toBe(new Date(expires).toISOString())
    expect((await call(caller)).status).toBe(200)
    await Bun.sleep(expires - Date.now() + 1)
    const answers = [await call(caller), await call(caller, { path: MESSAGES })]
    for (const answer of answers) expectError(answer, UNKNOWN_KEY)
    const stranger = await call({ key: `sk-duet-${'n'.repeat(43)}` })
    const withoutId = ({ message, ...error }: { message: string }) => ({
      ...error,
      message: message.replace(/\(.*/, ''),
    })
    expect(withoutId(answers[0]?.body.error)).toEqual(withoutId(stranger.body.error))
    expectError(await send(stage.duet, '/v1/models', { key: caller.key }), UNKNOWN_KEY)
    // It is still there for those who manage it, and can be given more time.
    await change(caller, { expires_at: new Date(Date.now() + 60_000).toISOString() })
    expect((await call(caller)).status).toBe(200)
  })
})

describe('a key that is disabled', () => {
  test('is refused at once, and served at once when it is enabled again', async () => {
    stage.answer = answering({ input: 1, output: 1 })
    const caller = await newCaller(stage.duet)
    for (let times = 0; times < 3; times++) {
      expect((await change(caller, { enabled: false })).enabled).toBe(false)
      expectError(await call(caller), UNKNOWN_KEY)
      expect((await change(caller, { enabled: true })).enabled).toBe(true)
      expect((await call(caller)).status).toBe(200)
    }
  })

  test('while a call is under way: that one goes on, and is paid', async () => {
    const caller = await newCaller(stage.duet)
    const open = thinking()
    const [answer] = await underWay(caller)
    await change(caller, { enabled: false })
    expectError(await call(caller), UNKNOWN_KEY)
    open()
    expect((await answer)?.status).toBe(200)
    expect(amountOf((await show(caller)).spent)).toBe(ONE)
  })
})

describe('several changes at once', () => {
  test('all hold', async () => {
    const caller = await newCaller(stage.duet)
    for (let times = 1; times <= 20; times++) {
      const enabled = times % 2 === 0
      await Promise.all([
        change(caller, { cap: String(times) }),
        change(caller, { enabled }),
        change(caller, { name: `name ${times}` }),
        change(caller, { models: [`acme/${times}`] }),
      ])
      expect(await show(caller)).toMatchObject({
        ...{ cap: `${times}.00`, enabled, name: `name ${times}`, models: [`acme/${times}`] },
      })
    }
  })

  test('all hold even if they come in the same turn of the event loop', async () => {
    const store = await openStoreOf(newFolder())
    const { directory } = store
    await directory.createAccount({ id: 'acc', name: 'acc', group: 'default', createdAt: 0 })
    const { id } = await directory.createKey(newKey('secret', { accountId: 'acc', name: 'before', createdAt: 0 }))
    await Promise.all([
      directory.changeKey(id, { cap: dollars(7) }),
      directory.changeKey(id, { enabled: false }),
      directory.changeKey(id, { name: 'after' }),
    ])
    expect(await directory.key(id)).toMatchObject({ cap: dollars(7), enabled: false, name: 'after' })
    await store.close()
  })

  test('to a key in use change nothing of what it has spent or holds', async () => {
    const caller = await newCaller(stage.duet, { cap: '1' })
    stage.answer = answering({ input: PROMPT, output: 100 })
    const calls = Array.from({ length: 20 }, () => call(caller))
    const changes = Array.from({ length: 20 }, (_, i) => change(caller, { name: `name ${i}` }))
    await Promise.all([...calls, ...changes])
    expect(amountOf((await show(caller)).spent)).toBe(20n * ONE)
    expect((await stage.duet.admin('GET', '/api/ledger/verify')).body).toMatchObject({ ok: true, open_holds: 0 })
  })
})

describe('when a key was last used', () => {
  const lastUsed = async (duet: Duet, id: string): Promise<number> =>
    Date.parse((await duet.admin('GET', `/api/keys/${id}`)).body.last_used_at)

  /** What is another one after every write: size and time of the log, or the transaction that wrote the row. */
  async function versionOf({ folder }: Duet, id: string): Promise<object> {
    if (STORE === 'sqlite') {
      const { size, mtimeMs } = statSync(`${databasePath(join(folder, 'data'))}-wal`)
      expect(size).toBeGreaterThan(0)
      return { size, mtimeMs }
    }
    const tables = await openTablesOf(folder)
    const row = await tables.get<object>('SELECT CAST(xmin AS TEXT), last_used_at FROM keys WHERE id = ?', id)
    await tables.close()
    return row ?? expect.unreachable()
  }

  test('is shown at once, and moves with every use, refused calls included', async () => {
    stage.answer = answering({ input: 1, output: 1 })
    const caller = await newCaller(stage.duet)
    expect((await show(caller)).last_used_at).toBeNull()
    const uses = [
      () => call(caller),
      () => send(stage.duet, '/v1/models', { key: caller.key }),
      () => call(caller, { fields: { model: 'acme/unpriced' } }),
    ]
    for (const use of uses) {
      await Bun.sleep(2)
      const before = Date.now()
      await use()
      const used = await lastUsed(stage.duet, caller.keyId)
      expect(used).toBeGreaterThanOrEqual(before)
      expect(used).toBeLessThanOrEqual(Date.now())
      const { data } = (await stage.duet.admin('GET', `/api/keys?account=${caller.account}`)).body
      expect(Date.parse(data[0].last_used_at)).toBe(used)
    }
  })

  test('a key that may not be used is not used', async () => {
    const caller = await newCaller(stage.duet)
    await change(caller, { enabled: false })
    await call(caller)
    expect((await show(caller)).last_used_at).toBeNull()
  })

  test('is not written with every request, and is still there after a restart', async () => {
    const duet = await startDuet()
    const { id } = (await duet.admin('GET', '/api/keys')).body.data[0]
    await send(duet, '/v1/models')
    const [written, before] = [await versionOf(duet, id), await lastUsed(duet, id)]
    await Bun.sleep(2)
    for (let calls = 0; calls < 50; calls++) expect((await send(duet, '/v1/models')).status).toBe(200)
    const after = await lastUsed(duet, id)
    expect(after).toBeGreaterThan(before)
    expect(await versionOf(duet, id)).toEqual(written)

    expect(await duet.stop()).toBe(0)
    const again = await duet.restart()
    expect(await lastUsed(again, id)).toBe(after)
    await again.stop()
  })
})

describe('the cap of a key', () => {
  test('raised, lets the next call in while others hold', async () => {
    const caller = await newCaller(stage.duet, { cap: dollarsOf(2n * ONE) })
    const open = thinking()
    const calls = [...(await underWay(caller)), ...(await underWay(caller))]
    expectError(await call(caller), { status: 403, code: 'pre_consume_token_quota_failed' })
    await change(caller, { cap: dollarsOf(3n * ONE) })
    calls.push(...(await underWay(caller)))
    expectError(await call(caller), { status: 403, code: 'pre_consume_token_quota_failed' })
    open()
    for (const answer of calls) expect((await answer).status).toBe(200)
    expect(await show(caller)).toMatchObject({ spent: dollarsOf(3n * ONE), remaining: '0.00' })
  })

  test('removed, lets the next call in while others hold', async () => {
    const caller = await newCaller(stage.duet, { cap: dollarsOf(ONE) })
    const open = thinking()
    const calls = await underWay(caller)
    expectError(await call(caller), { status: 403, code: 'pre_consume_token_quota_failed' })
    expect(await change(caller, { cap: null })).toMatchObject({ cap: null, remaining: null })
    calls.push(...(await underWay(caller)))
    open()
    for (const answer of calls) expect((await answer).status).toBe(200)
  })

  test('lowered below what is spent, refuses the next call and leaves nothing remaining', async () => {
    stage.answer = answering({ input: PROMPT, output: 100 })
    const caller = await newCaller(stage.duet, { cap: '5' })
    expect((await call(caller)).headers.get('x-duet-key-remaining')).toBe(dollarsOf(5_000_000_000n - ONE))
    expect(await change(caller, { cap: dollarsOf(ONE / 2n) })).toMatchObject({ remaining: '0.00' })
    const refused = expectError(await call(caller), { status: 403, code: 'pre_consume_token_quota_failed' })
    expect(refused.message).toContain('token remain quota: ＄0.000000')
    expect((await show(caller)).spent).toBe(dollarsOf(ONE))
  })

  test('lowered while calls hold more than that: they end, and are paid', async () => {
    const caller = await newCaller(stage.duet, { cap: '5' })
    const open = thinking()
    const calls = [...(await underWay(caller)), ...(await underWay(caller))]
    await change(caller, { cap: dollarsOf(ONE) })
    open()
    for (const answer of calls) expect((await answer).status).toBe(200)
    expect(await show(caller)).toMatchObject({ spent: dollarsOf(2n * ONE), remaining: '0.00' })
    expectError(await call(caller), { status: 403, code: 'pre_consume_token_quota_failed' })
  })

  test('of one key is no other key of the account', async () => {
    stage.answer = answering({ input: PROMPT, output: 100 })
    const caller = await newCaller(stage.duet, { cap: '0' })
    const { body } = await stage.duet.admin('POST', '/api/keys', { account: caller.account, name: 'other' })
    expect((await call(caller)).status).toBe(403)
    expect((await call(body)).status).toBe(200)
    expect((await show(caller)).spent).toBe('0.00')
  })
})

test('an account has at most a thousand keys; one that is revoked makes room', async () => {
  let duet = await startDuet()
  const { account, keyId } = await newCaller(duet)
  await duet.stop()
  const store = await openStoreOf(duet.folder)
  for (let number = 1; number < 999; number++) {
    await store.directory.createKey(newKey(`secret ${number}`, { accountId: account, name: 'many', createdAt: number }))
  }
  await store.close()
  duet = await duet.restart()
  const make = (of: string) => duet.admin('POST', '/api/keys', { account: of, name: 'one more' })
  expect((await make(account)).status).toBe(201)
  const { status, body } = await make(account)
  expect([status, body.error.code]).toEqual([409, 'too_many_keys'])
  expect((await make('default')).status).toBe(201)
  expect((await duet.admin('DELETE', `/api/keys/${keyId}`)).status).toBe(204)
  expect((await make(account)).status).toBe(201)
  expect(await duet.stop()).toBe(0)
}, 20_000)

describe('a key that is revoked', () => {
  test('is refused at once, gone from the lists, and its history stays', async () => {
    stage.answer = answering({ input: PROMPT, output: 100 })
    const caller = await newCaller(stage.duet)
    expect((await call(caller)).status).toBe(200)
    expect((await stage.duet.admin('DELETE', `/api/keys/${caller.keyId}`)).status).toBe(204)
    for (const path of [CHAT, MESSAGES]) expectError(await call(caller, { path }), UNKNOWN_KEY)
    expect((await stage.duet.admin('GET', `/api/keys?account=${caller.account}`)).body.data).toEqual([])
    for (const [method, body] of [['GET'], ['PATCH', { enabled: true }], ['DELETE']] as const) {
      expect((await stage.duet.admin(method, `/api/keys/${caller.keyId}`, body)).status).toBe(404)
    }
    const { data } = (await stage.duet.admin('GET', `/api/usage?key=${caller.keyId}`)).body
    expect(data).toMatchObject([{ key: caller.keyId, status: 'ok', cost: dollarsOf(ONE) }])
    const summary = (await stage.duet.admin('GET', `/api/usage/summary?by=key&key=${caller.keyId}`)).body
    expect(summary.data).toMatchObject([{ key: caller.keyId, requests: 1, cost: dollarsOf(ONE) }])
    const { body: entries } = await stage.duet.admin('GET', `/api/accounts/${caller.account}/entries`)
    expect(entries.data[0]).toMatchObject({ kind: 'charge', key: caller.keyId })
    expect((await stage.duet.admin('GET', '/api/ledger/verify')).body).toMatchObject({ ok: true })
  })

  test('with calls under way: those end, are paid, and stay visible', async () => {
    const caller = await newCaller(stage.duet, { cap: '5' })
    const open = thinking()
    const calls = [...(await underWay(caller)), ...(await underWay(caller, { stream: true }))]
    expect((await stage.duet.admin('DELETE', `/api/keys/${caller.keyId}`)).status).toBe(204)
    expectError(await call(caller), UNKNOWN_KEY)
    open()
    for (const answer of calls) expect((await answer).status).toBe(200)
    const { data } = (await stage.duet.admin('GET', `/api/usage?key=${caller.keyId}`)).body
    expect(data.map(({ status, cost }: { status: string; cost: string }) => [status, cost])).toEqual(
      Array(2).fill(['ok', dollarsOf(ONE)]),
    )
    const { body } = await stage.duet.admin('GET', `/api/accounts/${caller.account}`)
    expect(body).toMatchObject({ held: '0.00', spent: dollarsOf(2n * ONE) })
    expect((await stage.duet.admin('GET', '/api/ledger/verify')).body).toMatchObject({ ok: true, open_holds: 0 })
  })

  test('and a change at the same time: the key stays revoked', async () => {
    stage.answer = answering({ input: 1, output: 1 })
    for (let times = 0; times < 10; times++) {
      const caller = await newCaller(stage.duet)
      await Promise.all([
        stage.duet.admin('PATCH', `/api/keys/${caller.keyId}`, { enabled: true, cap: null }),
        stage.duet.admin('DELETE', `/api/keys/${caller.keyId}`),
      ])
      expectError(await call(caller), UNKNOWN_KEY)
    }
  })
})
