import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ROUTES } from '../../src/admin/api.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'
import {
  acceptLink,
  inviteMember,
  knock,
  OPERATOR,
  type Person,
  signIn,
  signInAsOperator,
  tokenOf,
} from '../support/people.ts'
import { openTablesOf } from '../support/stores.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
  await signInAsOperator(duet)
})
afterAll(() => duet.stop())

const routesFor = (access: 'member' | 'admin'): [method: string, path: string][] =>
  Object.entries(ROUTES)
    .filter(([, route]) => route.access === access)
    .map(([name]) => name.split(' ') as [string, string])

const statusOf = async (person: Person): Promise<number> => (await person.call('GET', '/api/session')).status

describe('an invited member', () => {
  let ada: Person
  let bob: Person
  /** Everything of Bob's that has a name. */
  const bobs = { account: '', name: 'the account of bob', key: '', secret: '', hint: '', request: '', session: '' }

  beforeAll(async () => {
    const account = (await duet.admin('POST', '/api/accounts', { name: bobs.name, balance: '5' })).body
    ada = await inviteMember(duet, 'ada')
    bob = await inviteMember(duet, 'bob', { account: account.id })
    await duet.admin('POST', `/api/accounts/${ada.session.account.id}/topups`, { amount: '5' })
    await duet.admin('PUT', `/api/accounts/${account.id}/notice`, {
      threshold: '1',
      url: 'http://127.0.0.1:9/bobs-hook',
    })
    const { body: key } = await bob.call('POST', '/api/keys', { name: 'the key of bob' })
    const answer = await call(key.key)
    const [{ id: session }] = (await bob.call('GET', '/api/sessions')).body.data
    const request = answer.headers.get('x-request-id') ?? ''
    Object.assign(bobs, { account: account.id, key: key.id, secret: key.key, hint: key.hint, request, session })
  })

  const call = async (key: string) => {
    const answer = await post(duet, CHAT, { model: 'openai/gpt-4.1', messages: user('Hello') }, { key })
    expect(answer.status).toBe(200)
    return answer
  }

  const marksOfBob = () => Object.values(bobs).filter(mark => mark !== '')

  /** By the name of the collection that an id stands in. */
  const idsOfBob = (collection: string): string[] => {
    if (collection === 'accounts') return [bobs.account, bobs.name]
    if (collection === 'keys') return [bobs.key]
    if (collection === 'usage') return [bobs.request]
    if (collection === 'sessions') return [bobs.session]
    return []
  }

  /** Bodies that would do something, had they the right to. */
  const BODIES: Readonly<Record<string, object>> = {
    'POST /keys': { name: 'a key' },
    'PATCH /keys/*': { name: 'taken over', cap: null },
    'POST /codes/redeem': { code: 'duet-0000-0000-0000-0000' },
    'PUT /session/password': { current: 'the password of ada', password: 'the password of ada' },
  }

  test('has an account of their own, and sees it', async () => {
    expect(ada.session).toMatchObject({ role: 'member', user: { name: 'ada' }, account: { name: 'ada' } })
    const { body } = await ada.call('GET', '/api/accounts')
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([ada.session.account.id])
    expect((await ada.call('GET', '/api/accounts/ada')).body.balance).toBe('5.00')
  })

  test('makes keys, uses them, caps them and revokes them', async () => {
    const { status, body: key } = await ada.call('POST', '/api/keys', { name: 'mine' })
    expect([status, key.account]).toEqual([201, ada.session.account.id])
    const answer = await call(key.key)
    const receipt = await ada.call('GET', `/api/usage/${answer.headers.get('x-request-id')}`)
    expect([receipt.status, receipt.body.key, receipt.body.channel]).toEqual([200, key.id, ''])
    expect(receipt.body.receipt.attempts.map(({ channel }: { channel: string }) => channel)).toEqual([''])
    expect((await ada.call('PATCH', `/api/keys/${key.id}`, { cap: '0' })).body.status).toBe('cap-reached')
    expect((await ada.call('DELETE', `/api/keys/${key.id}`)).status).toBe(204)
  })

  test('does not learn which channels there are', async () => {
    const { body } = await ada.call('GET', '/api/models')
    expect(body.data.length).toBeGreaterThan(0)
    for (const { channels } of body.data) expect(channels).toEqual([])
  })

  // Ends the session that asks; and the stream, which has no end, is looked at below.
  const APART = ['DELETE /session', 'GET /events']

  for (const [method, path] of routesFor('member')) {
    const name = `${method} ${path}`
    if (APART.includes(name)) continue
    const [, collection = ''] = path.split('/')

    test(`sees nothing of anybody else with ${name}`, async () => {
      const ids = path.includes('*') ? idsOfBob(collection) : ['']
      for (const id of ids) {
        const answer = await ada.call(method, `/api${path.replace('*', encodeURIComponent(id))}`, bodyFor(name))
        if (id !== '') expect(answer.status).toBe(404)
        // What was asked for is named in the refusal.
        const text = JSON.stringify(answer.body)
        const told = id === '' ? text : text.replaceAll(id, '')
        for (const mark of marksOfBob()) expect(told).not.toContain(mark)
      }
    })
  }

  for (const [method, path] of routesFor('member')) {
    if (!ROUTES[`${method} ${path}`]?.query?.account) continue
    test(`is told that there is no such account by ${method} ${path}`, async () => {
      for (const account of [bobs.account, bobs.name, 'default']) {
        const answer = await ada.call(method, `/api${path}?account=${encodeURIComponent(account)}`)
        expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found'])
      }
    })
  }

  const bodyFor = (name: string): object | undefined => (name.startsWith('GET') ? undefined : (BODIES[name] ?? {}))

  test('acts for nobody else’s account by naming it', async () => {
    for (const account of [bobs.account, bobs.name, 'default']) {
      for (const path of ['/api/keys', '/api/playground/key', '/api/codes/redeem']) {
        const body = { ...BODIES[`POST ${path.slice('/api'.length)}`], account }
        const { status } = await ada.call('POST', path, body)
        expect([404, 422]).toContain(status)
      }
    }
  })

  test('filters by a key of somebody else and finds nothing', async () => {
    const { status, body } = await ada.call('GET', `/api/usage?key=${bobs.key}`)
    expect([status, body.data]).toEqual([200, []])
    const { body: sums } = await ada.call('GET', `/api/usage/summary?key=${bobs.key}`)
    expect(sums.total.requests).toBe(0)
  })

  test('hears of their own requests alone', async () => {
    const { body: key } = await ada.call('POST', '/api/keys', { name: 'heard' })
    const leaving = new AbortController()
    const response = await fetch(`${duet.url}/api/events`, { headers: { cookie: ada.cookie }, signal: leaving.signal })
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    let heard = ''
    for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const isFirst = heard === ''
      heard += text
      if (isFirst) {
        await call(bobs.secret)
        await call(key.key)
      }
      if (heard.includes(key.id)) break
    }
    leaving.abort()
    for (const mark of marksOfBob()) expect(heard).not.toContain(mark)
  })

  test('leaves what belongs to others as it was', async () => {
    const { body: key } = await bob.call('GET', `/api/keys/${bobs.key}`)
    expect([key.name, key.cap, key.enabled]).toEqual(['the key of bob', null, true])
    expect((await bob.call('GET', '/api/keys')).body.data).toHaveLength(1)
    expect(await statusOf(bob)).toBe(200)
    await call(bobs.secret)
  })

  for (const [method, path] of routesFor('admin')) {
    test(`may not ${method} ${path}`, async () => {
      const { status, body } = await ada.call(
        method,
        `/api${path.replaceAll('*', 'default')}`,
        method === 'GET' ? undefined : {},
      )
      expect([status, body.error.code]).toEqual([403, 'forbidden'])
    })
  }

  test('may not have prompts and answers stored', async () => {
    const { body: key } = await ada.call('POST', '/api/keys', { name: 'stored' })
    const { status, body } = await ada.call('PATCH', `/api/keys/${key.id}`, { keep_days: 1 })
    expect([status, body.error.code]).toEqual([403, 'forbidden'])
  })
})

describe('users', () => {
  const change = (who: string, changes: object) => duet.admin('PATCH', `/api/users/${who}`, changes)

  test('are listed for admins, without their passwords', async () => {
    await inviteMember(duet, 'listed')
    const { body } = await duet.admin('GET', '/api/users')
    expect(body.data).toContainEqual(expect.objectContaining({ name: 'listed', role: 'member', enabled: true }))
    expect(JSON.stringify(body)).not.toContain('argon2')
  })

  test('who are disabled are out at once, and come back when they are enabled', async () => {
    const member = await inviteMember(duet, 'suspended')
    const given = { name: 'suspended', password: 'the password of suspended' }
    expect((await change('suspended', { enabled: false })).body.enabled).toBe(false)
    expect(await statusOf(member)).toBe(401)
    const refused = await knock(duet, '/api/session', given)
    expect([refused.status, refused.body.error.code]).toEqual([401, 'invalid_login'])
    await change('suspended', { enabled: true })
    expect(await statusOf(member)).toBe(401)
    expect(await statusOf(await signIn(duet, given))).toBe(200)
  })

  test('who are disabled are not let in by a link for a new password either', async () => {
    await inviteMember(duet, 'shut-out')
    const { body } = await duet.admin('POST', '/api/users/shut-out/reset')
    await change('shut-out', { enabled: false })
    const token = tokenOf(body.link)
    const use = () => knock(duet, '/api/invites/accept', { token, password: 'a new password' })
    const { status, headers } = await use()
    expect([status, headers.get('set-cookie')]).toEqual([404, null])
    expect((await knock(duet, '/api/invites/open', { token })).status).toBe(404)
    // Nor when they may come in again: whoever shut them out did not trust what they had.
    await change('shut-out', { enabled: true })
    expect((await use()).status).toBe(404)
    expect((await signIn(duet, { name: 'shut-out', password: 'the password of shut-out' })).name).toBe('shut-out')
  })

  test('who are disabled get no link for a new password', async () => {
    await inviteMember(duet, 'locked')
    await change('locked', { enabled: false })
    const { status, body } = await duet.admin('POST', '/api/users/locked/reset')
    expect([status, body.error.code, body.error.param]).toEqual([409, 'conflict', 'enabled'])
    await change('locked', { enabled: true })
    expect((await duet.admin('POST', '/api/users/locked/reset')).status).toBe(201)
  })

  test('are listed together with the invitations that are open', async () => {
    const { body: open } = await duet.admin('POST', '/api/invites', { name: 'expected' })
    const { body: over } = await duet.admin('POST', '/api/invites', { name: 'taken back' })
    await duet.admin('DELETE', `/api/invites/${over.id}`)
    const { body } = await duet.admin('GET', '/api/users')
    const { link, ...shown } = open
    expect(body.invites).toContainEqual(shown)
    expect(body.invites.map(({ id }: { id: string }) => id)).not.toContain(over.id)
    expect(JSON.stringify(body)).not.toContain(tokenOf(link))
  })

  test('get and lose the rights of an admin at once', async () => {
    const member = await inviteMember(duet, 'promoted')
    const mayAdminister = async () => (await member.call('GET', '/api/users')).status
    expect(await mayAdminister()).toBe(403)
    await change('promoted', { role: 'admin' })
    expect(await mayAdminister()).toBe(200)
    await change('promoted', { role: 'member' })
    expect(await mayAdminister()).toBe(403)
  })

  test('cannot have a name that somebody has, in any case', async () => {
    await inviteMember(duet, 'first-come')
    await inviteMember(duet, 'second')
    const { status, body } = await change('second', { name: 'First-Come' })
    expect([status, body.error.code, body.error.param]).toEqual([409, 'conflict', 'name'])
    expect((await change('second', { name: 'SECOND' })).body.name).toBe('SECOND')
  })

  test('the last admin stays one, until there is another', async () => {
    for (const [changes, param] of [
      [{ role: 'member' }, 'role'],
      [{ enabled: false }, 'enabled'],
    ] as const) {
      const { status, body } = await change('operator', changes)
      expect([status, body.error.param]).toEqual([409, param])
    }
    const { body } = await duet.admin('POST', '/api/invites', { role: 'admin', account: 'default' })
    await acceptLink(duet, body.link, { name: 'deputy', password: OPERATOR.password })
    expect((await change('operator', { enabled: false })).status).toBe(200)
    expect((await change('deputy', { enabled: false })).status).toBe(409)
    expect((await change('operator', { enabled: true })).status).toBe(200)
    expect((await change('deputy', { enabled: false })).status).toBe(200)
  })

  test('set a new password by a link, which ends their sessions and works once', async () => {
    const member = await inviteMember(duet, 'forgetful')
    const { status, body: reset } = await duet.admin('POST', '/api/users/forgetful/reset')
    expect([status, reset.kind, reset.user]).toEqual([201, 'reset', 'forgetful'])
    const token = tokenOf(reset.link)
    expect((await knock(duet, '/api/invites/open', { token })).body).toMatchObject({ kind: 'reset', user: 'forgetful' })
    expect(await statusOf(member)).toBe(200)
    const again = await acceptLink(duet, reset.link, { password: 'a new password' })
    expect([again.name, await statusOf(again), await statusOf(member)]).toEqual(['forgetful', 200, 401])
    expect((await knock(duet, '/api/invites/accept', { token, password: 'a third password' })).status).toBe(404)
    const old = { name: 'forgetful', password: 'the password of forgetful' }
    expect((await knock(duet, '/api/session', old)).status).toBe(401)
    expect((await signIn(duet, { ...old, password: 'a new password' })).name).toBe('forgetful')
  })

  test('set it by the latest link alone', async () => {
    await inviteMember(duet, 'twice')
    const { body: first } = await duet.admin('POST', '/api/users/twice/reset')
    const { body: second } = await duet.admin('POST', '/api/users/twice/reset')
    const accept = (link: string) =>
      knock(duet, '/api/invites/accept', { token: tokenOf(link), password: 'a new password' })
    expect((await accept(first.link)).status).toBe(404)
    expect((await accept(second.link)).status).toBe(201)
  })
})

describe('an invitation', () => {
  const inviteBy = async (invite: object = {}) => (await duet.admin('POST', '/api/invites', invite)).body
  const accept = (link: string, name: string) =>
    knock(duet, '/api/invites/accept', { token: tokenOf(link), name, password: 'a long password' })

  test('has its secret behind the #, and shows it once', async () => {
    const { id, link } = await inviteBy({ name: 'eve' })
    expect(new URL(link).pathname).toBe('/console/welcome')
    expect(new URL(link).search).toBe('')
    const { body } = await duet.admin('GET', '/api/invites')
    expect(body.data).toContainEqual(expect.objectContaining({ id, user: 'eve', kind: 'invite', role: 'member' }))
    expect(JSON.stringify(body)).not.toContain(tokenOf(link))
    expect(duet.output()).not.toContain(tokenOf(link))
  })

  test('that is taken back opens nothing', async () => {
    const { id, link } = await inviteBy()
    expect((await duet.admin('DELETE', `/api/invites/${id}`)).status).toBe(204)
    expect((await knock(duet, '/api/invites/open', { token: tokenOf(link) })).status).toBe(404)
    expect((await accept(link, 'too late')).status).toBe(404)
    expect((await duet.admin('DELETE', `/api/invites/${id}`)).status).toBe(404)
  })

  test('brings somebody to an account that exists', async () => {
    const { link } = await inviteBy({ account: 'default' })
    const { body } = await accept(link, 'colleague')
    expect([body.role, body.account.id]).toEqual(['member', 'default'])
  })

  test('to an account that does not exist is 422', async () => {
    const { status, body } = await duet.admin('POST', '/api/invites', { account: 'nowhere' })
    expect([status, body.error.param]).toEqual([422, 'account'])
  })

  test('is not used up by a name that is taken', async () => {
    const { link } = await inviteBy({ account: 'default' })
    const taken = await accept(link, 'OPERATOR')
    expect([taken.status, taken.body.error.code, taken.body.error.param]).toEqual([409, 'conflict', 'name'])
    expect((await accept(link, 'not taken')).status).toBe(201)
  })

  test('is over after a week', async () => {
    const first = await startDuet()
    const { body: invite } = await first.admin('POST', '/api/invites', {})
    const lasts = Date.parse(invite.expires_at) - Date.parse(invite.created_at)
    expect(lasts).toBe(7 * 86_400_000)
    await first.stop()
    const tables = await openTablesOf(first.folder)
    await tables.run('UPDATE invites SET expires_at = ?', Date.now() - 1)
    await tables.close()
    const second = await first.restart()
    expect((await knock(second, '/api/invites/open', { token: tokenOf(invite.link) })).status).toBe(404)
    expect((await second.admin('GET', '/api/invites')).body.data).toEqual([])
    await second.stop()
  })
})
