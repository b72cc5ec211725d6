import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Duet, JsonBody } from '../support/duet.ts'
import { type Answer, CHAT, type Frame, post, user } from '../support/http.ts'
import { listen } from '../support/listen.ts'
import { configFor, type ScriptedUpstream, scriptUpstream } from '../support/upstream.ts'
import { vendorBody } from '../support/vendor.ts'
import { balanceOf, type Caller, expectError, idOf, newCaller } from '../support/wire.ts'
import { type Fleet, one, START_MS_MAX, soon, startFleet } from './fleet.ts'

/** What one replica changes, the others know. */

let upstream: ScriptedUpstream
let fleet: Fleet
let here: Duet
let there: Duet
beforeAll(async () => {
  upstream = scriptUpstream(() => Response.json(vendorBody('chat')))
  fleet = await startFleet(2, { config: configFor(upstream.base, 'chat') })
  here = one(fleet.replicas, 0)
  there = one(fleet.replicas, 1)
}, START_MS_MAX)
afterAll(async () => {
  await fleet.stop()
  await upstream.stop()
})

const call = (duet: Duet, { key }: Pick<Caller, 'key'>, model = 'acme/swift-2'): Promise<Answer> =>
  post(duet, CHAT, { model, messages: user('Hi') }, { key })

const statusOf = async (duet: Duet, caller: Pick<Caller, 'key'>, model?: string): Promise<number> =>
  (await call(duet, caller, model)).status

async function change(duet: Duet, method: string, path: string, body?: unknown): Promise<JsonBody> {
  const answer = await duet.admin(method, path, body)
  expect(answer.status).toBeLessThan(300)
  return answer.body
}

const modelsOf = async (duet: Duet): Promise<string[]> => {
  const { body } = await duet.admin('GET', '/api/models')
  return body.data.map(({ id }: JsonBody) => id)
}

const channelOf = async (duet: Duet, name: string): Promise<JsonBody> => {
  const { body } = await duet.admin('GET', '/api/channels')
  return body.data.find((channel: JsonBody) => channel.name === name)
}

describe('keys', () => {
  test('that were made at one are known to the other at once', async () => {
    const caller = await newCaller(here)
    expect(await statusOf(there, caller)).toBe(200)
  })

  test('that were revoked admit no call from then on, however well the other remembers them', async () => {
    const caller = await newCaller(here)
    expect(await statusOf(there, caller)).toBe(200)
    const asked = upstream.requests.length
    await change(here, 'DELETE', `/api/keys/${caller.keyId}`)
    const answers = await Promise.all(Array.from({ length: 10 }, () => call(there, caller)))
    for (const answer of answers) expectError(answer, { status: 401, type: 'duet_api_error' })
    expect(upstream.requests).toHaveLength(asked)
  })

  test('that were revoked while they were busy everywhere admit no call after the answer', async () => {
    const caller = await newCaller(here)
    const seen: { readonly at: number; readonly status: number }[] = []
    let isOver = false
    const busy = [here, there, here, there].map(async duet => {
      while (!isOver) {
        const at = performance.now()
        seen.push({ at, status: await statusOf(duet, caller) })
      }
    })
    await soon(
      () => seen.length,
      count => count > 20,
    )
    await change(here, 'DELETE', `/api/keys/${caller.keyId}`)
    const revokedAt = performance.now()
    await soon(
      () => seen.filter(({ at }) => at > revokedAt).length,
      count => count > 20,
    )
    isOver = true
    await Promise.all(busy)
    expect(seen.filter(({ at, status }) => at > revokedAt && status !== 401)).toEqual([])
    expect(seen.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
  })

  test('that were disabled and enabled again are refused and let in by the other', async () => {
    const caller = await newCaller(here)
    expect(await statusOf(there, caller)).toBe(200)
    await change(here, 'PATCH', `/api/keys/${caller.keyId}`, { enabled: false })
    expect(await statusOf(there, caller)).toBe(401)
    await change(there, 'PATCH', `/api/keys/${caller.keyId}`, { enabled: true })
    await soon(
      () => statusOf(here, caller),
      status => status === 200,
    )
  })

  test('whose models were narrowed are refused them by the other within a second', async () => {
    const caller = await newCaller(here)
    expect(await statusOf(there, caller)).toBe(200)
    await change(here, 'PATCH', `/api/keys/${caller.keyId}`, { models: ['acme/other'] })
    await soon(
      () => statusOf(there, caller),
      status => status === 403,
    )
  })

  test('whose cap was lowered are refused by the other at once', async () => {
    const caller = await newCaller(here)
    expect(await statusOf(there, caller)).toBe(200)
    await change(here, 'PATCH', `/api/keys/${caller.keyId}`, { cap: '0.000001' })
    expect(await statusOf(there, caller)).toBe(403)
    await change(here, 'PATCH', `/api/keys/${caller.keyId}`, { cap: null })
    expect(await statusOf(there, caller)).toBe(200)
  })
})

test('money that one was given can be spent at the other at once', async () => {
  const caller = await newCaller(here, { balance: '0' })
  expect(await statusOf(there, caller)).toBe(403)
  await change(here, 'POST', `/api/accounts/${caller.account}/topups`, { amount: '3' })
  expect(await balanceOf(there, caller.account)).toBe('3.00')
  expect(await statusOf(there, caller)).toBe(200)
})

describe('the catalog', () => {
  const price = { input: 1, output: 2, cache_read: 0.1, cache_write: 1 }

  test('is the same for all within a second of a change: models, channels, pauses', async () => {
    const caller = await newCaller(here)
    await change(here, 'POST', '/api/models', { id: 'new/model', price })
    await change(here, 'POST', '/api/channels', {
      ...{ name: 'new-channel', protocol: 'chat', base_url: upstream.base, api_key: 'vendor-key-9876543210' },
      models: ['new/model'],
    })
    await soon(
      () => statusOf(there, caller, 'new/model'),
      status => status === 200,
    )
    await change(there, 'PUT', '/api/channels/new-channel/paused', { paused: true })
    await soon(
      () => statusOf(here, caller, 'new/model'),
      status => status === 503,
    )
    await change(here, 'PUT', '/api/channels/new-channel/paused', { paused: false })
    await soon(
      () => statusOf(there, caller, 'new/model'),
      status => status === 200,
    )
    await change(there, 'DELETE', '/api/channels/new-channel')
    await change(there, 'DELETE', '/api/models/new%2Fmodel')
    await soon(
      () => modelsOf(here),
      models => !models.includes('new/model'),
    )
  })

  test('that is changed at both at the same time has all of the changes', async () => {
    const names = Array.from({ length: 6 }, (_, place) => `at-once/${place}`)
    await Promise.all(names.map((id, place) => change(place % 2 ? here : there, 'POST', '/api/models', { id, price })))
    for (const duet of [here, there]) {
      await soon(
        () => modelsOf(duet),
        models => names.every(name => models.includes(name)),
      )
    }
  })

  test('that is changed by one right after the other is changed from what there is, and not from what was there', async () => {
    await change(here, 'POST', '/api/channels', {
      ...{ name: 'shared', protocol: 'chat', base_url: upstream.base, api_keys: ['vendor-key-1111111111'] },
      models: ['acme/swift-2'],
    })
    await change(there, 'PATCH', '/api/channels/shared', { priority: 7 })
    await change(here, 'PATCH', '/api/channels/shared', { weight: 3 })
    await change(there, 'POST', '/api/channels/shared/keys', { api_key: 'vendor-key-2222222222' })
    for (const duet of [here, there]) {
      const { priority, weight, keys } = await soon(
        () => channelOf(duet, 'shared'),
        channel => channel?.keys.length === 2,
      )
      expect({ priority, weight, keys: keys.length }).toEqual({ priority: 7, weight: 3, keys: 2 })
    }
    await change(here, 'DELETE', '/api/channels/shared')
  })

  test('that another program changes is seen as well', async () => {
    await fleet.query(`INSERT INTO pauses (channel, key_id, at) VALUES ('acme-main', '', 1)`)
    for (const duet of [here, there]) {
      await soon(
        () => channelOf(duet, 'acme-main'),
        channel => channel.paused === true,
      )
    }
    await fleet.query(`DELETE FROM pauses`)
    const caller = await newCaller(here)
    for (const duet of [here, there]) {
      await soon(
        () => statusOf(duet, caller),
        status => status === 200,
      )
    }
  })
})

describe('events', () => {
  test('tell at one of what is asked at the other', async () => {
    const caller = await newCaller(here)
    const events = await listen(here, '/api/events')
    await events.until(({ event }) => event === 'hello')
    const id = idOf(await call(there, caller))
    const tells = ({ json }: Frame) => (json?.rows ?? []).some((row: JsonBody) => row.request_id === id)
    expect((await events.until(tells)).filter(tells)).toHaveLength(1)
    await events.leave()
  })

  test('tell at one that the other has changed the catalog', async () => {
    const events = await listen(here, '/api/events')
    await events.until(({ event }) => event === 'hello')
    await change(there, 'PUT', '/api/channels/acme-main/paused', { paused: true })
    await events.until(({ event }) => event === 'catalog')
    await change(there, 'PUT', '/api/channels/acme-main/paused', { paused: false })
    await events.leave()
  })
})

test('requests alone say nothing to anybody', async () => {
  const caller = await newCaller(here)
  const versions = () => fleet.query('SELECT topic, version FROM changes ORDER BY topic')
  // What was changed before has been heard.
  for (const duet of [here, there]) {
    await soon(
      () => statusOf(duet, caller),
      status => status === 200,
    )
  }
  const before = await versions()
  for (const duet of [here, there]) expect(await statusOf(duet, caller)).toBe(200)
  expect(await versions()).toEqual(before)
})

describe('when nothing is heard', () => {
  test('because the connection that listens was cut, it is made again', async () => {
    const caller = await newCaller(here)
    expect(await statusOf(there, caller)).toBe(200)
    const cut = await fleet.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
    )
    expect(cut).toHaveLength(2)
    await change(here, 'PATCH', `/api/keys/${caller.keyId}`, { models: ['acme/other'] })
    await soon(
      () => statusOf(there, caller),
      status => status === 403,
    )
  })

  test('because nothing is said, it is seen all the same', async () => {
    const caller = await newCaller(here)
    expect(await statusOf(there, caller)).toBe(200)
    await fleet.query(`CREATE OR REPLACE FUNCTION duet_changed_1() RETURNS TRIGGER LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE changes SET version = version + 1 WHERE topic = TG_ARGV[0];
        RETURN NULL;
      END $$`)
    await change(here, 'PATCH', `/api/keys/${caller.keyId}`, { models: ['acme/other'] })
    await soon(
      () => statusOf(there, caller),
      status => status === 403,
    )
    await change(there, 'POST', '/api/models', { id: 'silent/model', price: { input: 1, output: 2 } })
    await soon(
      () => modelsOf(here),
      models => models.includes('silent/model'),
    )
  })
})
