import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { VERSION } from '../../src/version.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, type Frame, post, user } from '../support/http.ts'
import { type Listening, listen } from '../support/listen.ts'
import { acceptLink, inviteMember, OPERATOR, type Person, signIn, signInAsOperator } from '../support/people.ts'
import { configFor, type ScriptedUpstream, scriptUpstream } from '../support/upstream.ts'
import { vendorBody } from '../support/vendor.ts'
import { type Caller, eventually, idOf, newCaller } from '../support/wire.ts'

let duet: Duet
let upstream: ScriptedUpstream
beforeAll(async () => {
  upstream = scriptUpstream(() => Response.json(vendorBody('chat')))
  duet = await startDuet({ config: configFor(upstream.base, 'chat') })
})
afterAll(async () => {
  await duet.stop()
  await upstream.stop()
})

const ask = async (key: string): Promise<string> =>
  idOf(await post(duet, CHAT, { model: 'acme/swift-2', messages: user('Hi') }, { key }))

const isHello = ({ event }: Frame): boolean => event === 'hello'
const rowsIn = (events: readonly Frame[]): JsonBody[] => events.flatMap(({ json }) => json.rows ?? [])
const tells = (requestId: string) => (event: Frame) => rowsIn([event]).some(row => row.request_id === requestId)

/** Listens, and leaves when the test is over. */
async function listening<T>(path: string, work: (events: Listening) => Promise<T>, who?: Person): Promise<T> {
  const events = await listen(duet, path, who)
  try {
    await events.until(isHello)
    return await work(events)
  } finally {
    await events.leave()
  }
}

describe('GET /api/events', () => {
  test('is a stream of server-sent events that begins with hello', async () => {
    const events = await listen(duet, '/api/events')
    expect([events.status, events.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect(await events.until(isHello)).toMatchObject([{ event: 'hello', json: { version: VERSION } }])
    await events.leave()
  })

  test('tells of each request as the list has it, once, in the order in which they ended, with the balance after them', async () => {
    const { key, account } = await newCaller(duet)
    await listening('/api/events', async events => {
      const asked = [await ask(key), await ask(key), await ask(key)]
      const heard = await events.until(tells(asked[2] ?? ''))
      const rows = rowsIn(heard).filter(row => row.account === account)
      expect(rows.map(row => row.request_id)).toEqual(asked)
      const { body } = await duet.admin('GET', `/api/usage?account=${account}`)
      expect(rows.toReversed()).toEqual(body.data)
      const { body: now } = await duet.admin('GET', `/api/accounts/${account}`)
      expect(heard.at(-1)?.json.accounts).toEqual([now])
    })
  })

  test('says nothing of what was before', async () => {
    const { key } = await newCaller(duet)
    const before = await ask(key)
    await listening('/api/events', async events => {
      const heard = rowsIn(await events.until(tells(await ask(key))))
      expect(heard.map(row => row.request_id)).not.toContain(before)
    })
  })

  test('tells of refused requests too', async () => {
    const { key } = await newCaller(duet, { balance: '0' })
    await listening('/api/events', async events => {
      const heard = rowsIn(await events.until(tells(await ask(key))))
      expect(heard.at(-1)).toMatchObject({ status: 'insufficient_user_quota', cost: '0.00' })
    })
  })

  test('of one account tells of no other', async () => {
    const [mine, others] = [await newCaller(duet), await newCaller(duet)]
    await listening(`/api/events?account=${mine.account}`, async events => {
      await ask(others.key)
      const heard = await events.until(tells(await ask(mine.key)))
      expect(new Set(rowsIn(heard).map(row => row.account))).toEqual(new Set([mine.account]))
    })
  })

  test('of one account tells when money comes in, though nobody asked for anything', async () => {
    const { account } = await newCaller(duet, { balance: '1' })
    await listening(`/api/events?account=${account}`, async events => {
      await duet.admin('POST', `/api/accounts/${account}/topups`, { amount: '2.5' })
      const [event] = await events.until(({ event }) => event === 'usage')
      expect(event?.json).toMatchObject({ rows: [], accounts: [{ id: account, balance: '3.50' }] })
    })
  })

  test('of all accounts tells an admin when money comes in on their own', async () => {
    const operator = await signInAsOperator(duet)
    const { account } = await newCaller(duet)
    await listening(
      '/api/events',
      async events => {
        await duet.admin('POST', `/api/accounts/${account}/topups`, { amount: '2.5' })
        const { body: own } = await duet.admin('POST', '/api/accounts/default/topups', { amount: '2.5' })
        const [event] = await events.until(({ event }) => event === 'usage')
        expect(event?.json).toMatchObject({ rows: [], accounts: [{ id: 'default', balance: own.account.balance }] })
        expect(event?.json.accounts).toHaveLength(1)
      },
      operator,
    )
  })

  test('tells that the catalog was read again', async () => {
    await listening('/api/events', async events => {
      appendFileSync(join(duet.folder, 'duet.yaml'), '\n# read me again\n')
      process.kill(duet.pid, 'SIGHUP')
      const heard = await events.until(({ event }) => event === 'catalog')
      expect(heard.at(-1)?.json).toEqual({})
    })
  })

  test('does not say how long it is to those who ask for the headers alone', async () => {
    const headers = { authorization: `Bearer ${duet.adminToken}` }
    const response = await fetch(`${duet.url}/api/events`, { method: 'HEAD', headers })
    expect([response.status, response.headers.get('content-length')]).toEqual([200, null])
    expect(await response.text()).toBe('')
  })

  test('refuses what it does not know', async () => {
    expect((await duet.admin('GET', '/api/events?acount=default')).status).toBe(422)
    expect((await duet.admin('GET', '/api/events?account=nobody')).status).toBe(404)
    expect((await fetch(`${duet.url}/api/events`)).status).toBe(401)
  })

  describe('to a member', () => {
    let member: Person
    let own: string
    let others: Caller
    beforeAll(async () => {
      member = await inviteMember(duet, 'listener')
      await duet.admin('POST', `/api/accounts/${member.session.account.id}/topups`, { amount: '5' })
      own = (await member.call('POST', '/api/keys', { name: 'own' })).body.key
      others = await newCaller(duet)
    })

    test('tells of their own account only, and not of channels', async () => {
      await listening(
        '/api/events',
        async events => {
          await ask(others.key)
          const heard = await events.until(tells(await ask(own)))
          expect(rowsIn(heard)).toMatchObject([{ account: member.session.account.id, key_name: 'own', channel: '' }])
          expect(heard.at(-1)?.json.accounts).toMatchObject([{ id: member.session.account.id }])
          expect(JSON.stringify(heard)).not.toContain('acme-main')
        },
        member,
      )
    })

    test('does not tell of another account, whoever asks for it', async () => {
      expect((await member.call('GET', `/api/events?account=${others.account}`)).status).toBe(404)
    })
  })
})

describe('a stream ends', () => {
  // The last admin stays one.
  beforeAll(() => signInAsOperator(duet))

  /** An admin of their own, who listens; what happens then ends the stream, or this waits until the test is given up. */
  async function endsWith(name: string, happens: (listener: Person) => Promise<unknown>): Promise<void> {
    const { body } = await duet.admin('POST', '/api/invites', { role: 'admin', account: 'default' })
    const listener = await acceptLink(duet, body.link, { name, password: OPERATOR.password })
    const events = await listen(duet, '/api/events', listener)
    await events.until(isHello)
    await happens(listener)
    await events.ended()
    await events.leave()
  }

  test('when its listener signs out', () => endsWith('leaving', ({ call }) => call('DELETE', '/api/session')))

  test('when its session is ended from elsewhere, and that of no other browser with it', () =>
    endsWith('divided', async listener => {
      const elsewhere = await signIn(duet, { name: 'divided', password: OPERATOR.password })
      const other = await listen(duet, '/api/events', elsewhere)
      await other.until(isHello)
      const { body } = await elsewhere.call('GET', '/api/sessions')
      const { id } = body.data.find(({ current }: JsonBody) => !current)
      expect((await elsewhere.call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
      expect((await listener.call('GET', '/api/session')).status).toBe(401)
      const { key } = await newCaller(duet)
      await other.until(tells(await ask(key)))
      await other.until(tells(await ask(key)))
      await other.leave()
    }))

  test('when its listener is shut out', () =>
    endsWith('shut-out', async () => {
      expect((await duet.admin('PATCH', '/api/users/shut-out', { enabled: false })).status).toBe(200)
    }))

  test('when its listener is an admin no more', () =>
    endsWith('demoted', async () => {
      expect((await duet.admin('PATCH', '/api/users/demoted', { role: 'member' })).status).toBe(200)
    }))
})

describe('there is room', () => {
  let another: Duet
  beforeAll(async () => {
    another = await startDuet()
  })
  afterAll(async () => {
    expect(await another.stop()).toBe(0)
  })

  const crowd: Listening[] = []
  /** As many as are let in; the last one was not. */
  async function fill(who?: Person): Promise<Listening> {
    for (;;) {
      const guest = await listen(another, '/api/events', who)
      if (guest.status !== 200) return guest
      crowd.push(guest)
    }
  }
  const codeFor = async (who: Pick<Person, 'call'>) => (await who.call('GET', '/api/events')).body.error.code
  const token = { call: (method: string, path: string) => another.admin(method, path) }

  test('for those who ask for the headers alone, however often: they do not listen', async () => {
    for (let heads = 0; heads < 30; heads++) {
      const headers = { authorization: `Bearer ${another.adminToken}` }
      const response = await fetch(`${another.url}/api/events`, { method: 'HEAD', headers })
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    }
  })

  test('for those who come after others that left before the first word', async () => {
    for (let guests = 0; guests < 30; guests++) {
      const leaving = new AbortController()
      const headers = { authorization: `Bearer ${another.adminToken}` }
      const left = fetch(`${another.url}/api/events`, { headers, signal: leaving.signal }).catch(() => 'left')
      await Bun.sleep(guests % 4)
      leaving.abort()
      await left
    }
    const welcome = await eventually(
      () => listen(another, '/api/events'),
      ({ status }) => status === 200,
    )
    expect(welcome.status).toBe(200)
    await welcome.leave()
  })

  test('for ten streams of one user; who leaves makes room', async () => {
    const tooMany = await eventually(
      () => fill(),
      () => crowd.length >= 10,
    )
    expect(crowd).toHaveLength(10)
    expect([tooMany.status, tooMany.headers.get('retry-after')]).toEqual([429, '5'])
    expect(await codeFor(token)).toBe('too_many_at_once')

    await crowd.pop()?.leave()
    const welcome = await eventually(
      () => listen(another, '/api/events'),
      ({ status }) => status === 200,
    )
    expect(welcome.status).toBe(200)
    crowd.push(welcome)
  })

  test('for two hundred streams of all users', async () => {
    for (let guests = 1; guests < 20; guests++) {
      const tooMany = await fill(await inviteMember(another, `guest-${guests}`))
      expect([tooMany.status, crowd.length]).toEqual([429, 10 * (guests + 1)])
    }
    const late = await inviteMember(another, 'late')
    const tooMany = await fill(late)
    expect([tooMany.status, tooMany.headers.get('retry-after')]).toEqual([503, '10'])
    expect([crowd.length, await codeFor(late)]).toEqual([200, 'too_many_at_once'])
    await Promise.all(crowd.map(events => events.leave()))
  }, 30_000)
})

test('who listens does not keep a gateway from stopping', async () => {
  const another = await startDuet()
  const events = await listen(another, '/api/events')
  await events.until(isHello)
  expect(await another.stop()).toBe(0)
  await events.leave()
})
