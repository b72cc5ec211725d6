import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, user } from '../support/http.ts'
import { inviteMember, type Person, signInAsOperator } from '../support/people.ts'

const HOUR_MS = 3_600_000
const ASK = { model: 'openai/gpt-4.1', max_tokens: 20, messages: user('Hello') }

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

let members = 0
async function newMember(): Promise<Person> {
  const member = await inviteMember(duet, `player-${++members}`)
  await duet.admin('POST', `/api/accounts/${member.session.account.id}/topups`, { amount: 10 })
  return member
}

const keyFor = async (who: Person, body: object = {}) => {
  const answer = await who.call('POST', '/api/playground/key', body)
  expect(answer.status).toBe(201)
  return answer.body
}

describe('a playground key', () => {
  test('calls models in both protocols, for an hour and a dollar of the own account', async () => {
    const member = await newMember()
    const before = Date.now()
    const { id, key, cap, expires_at } = await keyFor(member)
    expect(cap).toBe('1.00')
    const life = Date.parse(expires_at) - HOUR_MS
    expect(life).toBeGreaterThanOrEqual(before)
    expect(life).toBeLessThanOrEqual(Date.now())
    for (const path of [CHAT, MESSAGES]) {
      const { status, headers } = await post(duet, path, ASK, { key })
      expect(status).toBe(200)
      const { body } = await member.call('GET', `/api/usage/${headers.get('x-request-id')}`)
      expect(body).toMatchObject({ key: id, account: member.session.account.id, status: 'ok' })
    }
    const { body } = await member.call('GET', '/api/usage')
    expect(body.data.map(({ key }: JsonBody) => key)).toEqual([id, id])
    const { balance } = (await member.call('GET', `/api/accounts/${member.session.account.id}`)).body
    expect(Number(balance)).toBeLessThan(10)
  })

  test('is not among the keys, and cannot be made into one that lasts', async () => {
    const member = await newMember()
    const { id, key } = await keyFor(member)
    expect((await member.call('GET', '/api/keys')).body.data).toEqual([])
    const changes = { cap: null, expires_at: null }
    expect((await member.call('PATCH', `/api/keys/${id}`, changes)).status).toBe(404)
    expect((await duet.admin('PATCH', `/api/keys/${id}`, changes)).status).toBe(404)
    expect((await member.call('DELETE', `/api/keys/${id}`)).status).toBe(204)
    expect((await post(duet, CHAT, ASK, { key })).status).toBe(401)
  })

  test('is the last of twenty: one more and the oldest is revoked', async () => {
    const [member, other] = [await newMember(), await newMember()]
    const another = await keyFor(other)
    const keys: JsonBody[] = []
    for (let made = 0; made < 21; made++) keys.push(await keyFor(member))
    const statuses = await Promise.all(
      [keys[0], keys[1], keys[20], another].map(({ key }) => post(duet, CHAT, ASK, { key })),
    )
    expect(statuses.map(({ status }) => status)).toEqual([401, 200, 200, 200])
  })

  test('is one of a hundred in an hour: each is a row that stays', async () => {
    const [member, other] = [await newMember(), await newMember()]
    for (let made = 0; made < 100; made++) await keyFor(member)
    const { status, body } = await member.call('POST', '/api/playground/key', {})
    expect([status, body.error.code]).toEqual([429, 'too_many_attempts'])
    // It is the account that has enough of them, whoever asks.
    const { account } = member.session
    expect((await duet.admin('POST', '/api/playground/key', { account: account.id })).status).toBe(429)
    await keyFor(other)
  })

  test('spends from the own account, which members cannot change', async () => {
    const [member, other] = [await newMember(), await newMember()]
    const account = other.session.account.id
    const { status, body } = await member.call('POST', '/api/playground/key', { account })
    expect([status, body.error.param]).toEqual([422, 'account'])
  })

  test('spends from any account for admins; the admin token has to name it', async () => {
    const operator = await signInAsOperator(duet)
    const account = (await newMember()).session.account.id
    for (const [body, spender] of [
      [{}, operator.session.account.id],
      [{ account }, account],
    ] as const) {
      const { key } = await keyFor(operator, body)
      const { headers } = await post(duet, CHAT, ASK, { key })
      const { body: usage } = await duet.admin('GET', `/api/usage/${headers.get('x-request-id')}`)
      expect(usage.account).toBe(spender)
    }
    const { status, body } = await duet.admin('POST', '/api/playground/key', {})
    expect([status, body.error.param]).toEqual([422, 'account'])
    expect((await duet.admin('POST', '/api/playground/key', { account })).status).toBe(201)
  })

  test('says which channel answered where it is an admin who asks', async () => {
    const { key: admins } = await keyFor(await signInAsOperator(duet))
    const { key: members } = await keyFor(await newMember())
    expect((await post(duet, CHAT, ASK, { key: admins })).headers.get('x-duet-channel')).toStartWith('sandbox-')
    expect((await post(duet, CHAT, ASK, { key: members })).headers.get('x-duet-channel')).toBeNull()
  })

  test('is for those who are signed in', async () => {
    const response = await fetch(`${duet.url}/api/playground/key`, { method: 'POST', body: '{}' })
    expect(response.status).toBe(401)
  })
})
