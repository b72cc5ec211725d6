import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ROUTES } from '../../src/admin/api.ts'
import { type Duet, newFolder, startDuet } from '../support/duet.ts'
import {
  acceptLink,
  CONSOLE_HEADERS,
  firstLink,
  inviteMember,
  knock,
  OPERATOR,
  type Person,
  signIn,
  signInAsOperator,
  tokenOf,
} from '../support/people.ts'
import { SECRET_FILES, storedBytes } from '../support/stored.ts'
import { openStoreOf, openTablesOf } from '../support/stores.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

const statusOf = async (person: Person): Promise<number> => (await person.call('GET', '/api/session')).status

/** What was printed once the banner was over. */
const logOf = (duet: Duet): string => duet.output().slice(duet.output().indexOf('{"time"'))

describe('without a session', () => {
  const OPEN = ['POST /session', 'POST /invites/open', 'POST /invites/accept', 'GET /openapi.json']

  for (const [name, { access }] of Object.entries(ROUTES)) {
    if (access === 'open') continue
    test(`${name} is 401`, async () => {
      const [method, path] = name.replaceAll('*', 'default').split(' ')
      const response = await fetch(`${duet.url}/api${path}`, {
        method: method ?? '',
        headers: CONSOLE_HEADERS,
        ...(method === 'GET' ? {} : { body: '{}' }),
      })
      expect([response.status, await response.json()]).toMatchObject([401, { error: { code: 'unauthorized' } }])
    })
  }

  test('nothing else is open but what lets people in and the description of the API', () => {
    const open = Object.entries(ROUTES).filter(([, { access }]) => access === 'open')
    expect(open.map(([name]) => name).filter(name => !OPEN.includes(name))).toEqual([])
  })

  test('a cookie that is made up is 401', async () => {
    const headers = { cookie: `duet_session=${'A'.repeat(43)}` }
    expect((await fetch(`${duet.url}/api/session`, { headers })).status).toBe(401)
  })
})

describe('the link of the first start', () => {
  test('says what it is for, and is not used up by being looked at', async () => {
    const token = tokenOf(firstLink(duet))
    for (const _ of [1, 2]) {
      const { status, body } = await knock(duet, '/api/invites/open', { token })
      expect(status).toBe(200)
      expect(body).toMatchObject({ kind: 'first', role: 'admin', account: 'default', user: null })
      expect(JSON.stringify(body)).not.toContain(token)
    }
  })

  test('wants a name and a password that is long enough', async () => {
    const token = tokenOf(firstLink(duet))
    const refused = async (given: object) => {
      const { status, body } = await knock(duet, '/api/invites/accept', { token, ...given })
      return [status, body.error.param]
    }
    expect(await refused({ password: OPERATOR.password })).toEqual([422, 'name'])
    expect(await refused({ name: 'operator', password: 'nine char' })).toEqual([422, 'password'])
    expect(await refused({ name: 'operator' })).toEqual([422, 'password'])
  })

  test('signs the operator in, once', async () => {
    const operator = await signInAsOperator(duet)
    expect(operator.session).toMatchObject({ role: 'admin', user: { name: 'operator' }, account: { id: 'default' } })
    expect(await statusOf(operator)).toBe(200)
    const token = tokenOf(firstLink(duet))
    for (const path of ['/api/invites/open', '/api/invites/accept']) {
      const given = path.endsWith('open') ? {} : { name: 'another', password: OPERATOR.password }
      expect((await knock(duet, path, { token, ...given })).status).toBe(404)
    }
  })

  test('lets one of many in who use it at the same moment', async () => {
    const fresh = await startDuet()
    const token = tokenOf(firstLink(fresh))
    const answers = await Promise.all(
      [1, 2, 3, 4].map(n =>
        knock(fresh, '/api/invites/accept', { token, name: `operator ${n}`, password: OPERATOR.password }),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 404, 404, 404])
    expect((await fresh.admin('GET', '/api/users')).body.data).toHaveLength(1)
    await fresh.stop()
  })

  test('is printed by the first start alone, used or not', async () => {
    const first = await startDuet()
    const link = firstLink(first)
    await first.stop()
    const second = await first.restart()
    expect(second.output()).toContain('/console')
    expect(second.output()).not.toContain('/console/welcome')
    expect((await acceptLink(second, link, OPERATOR)).name).toBe('operator')
    await second.stop()
  })

  test('is nowhere in the log, and nowhere in the database', async () => {
    await signInAsOperator(duet)
    const token = tokenOf(firstLink(duet))
    expect(logOf(duet)).not.toContain(token)
    expect(await storedBytes(duet.folder, SECRET_FILES)).not.toContain(token)
  })
})

describe('a session', () => {
  test('is a cookie that scripts cannot read and other sites cannot have sent', async () => {
    await signInAsOperator(duet)
    const { headers } = await knock(duet, '/api/session', OPERATOR)
    const [cookie = '', ...attributes] = (headers.get('set-cookie') ?? '').split('; ')
    expect(cookie).toMatch(/^duet_session=[\w-]{43}$/)
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Max-Age=1209600', 'Path=/api', 'SameSite=Strict'])
  })

  const FORWARDED: readonly [by: string, isSecure: boolean][] = [
    ['https', true],
    ['HTTPS', true],
    ['https, http', true],
    ['https,http', true],
    ['http', false],
    ['http, https', false],
    ['httpsx', false],
  ]
  for (const [proto, isSecure] of FORWARDED) {
    test(`is ${isSecure ? 'never' : 'also'} sent in clear where a proxy says ${JSON.stringify(proto)}`, async () => {
      await signInAsOperator(duet)
      const headers = { ...CONSOLE_HEADERS, 'x-forwarded-proto': proto }
      const { status, headers: answered } = await knock(duet, '/api/session', OPERATOR, headers)
      expect([status, answered.get('set-cookie')?.includes('; Secure')]).toEqual([201, isSecure])
    })
  }

  test('is in the database as a hash, and so is the password', async () => {
    const { cookie } = await signInAsOperator(duet)
    const stored = await storedBytes(duet.folder, SECRET_FILES)
    expect(stored).not.toContain(cookie.slice('duet_session='.length))
    expect(stored).not.toContain(OPERATOR.password)
    expect(stored).toContain('$argon2id$')
    expect(logOf(duet)).not.toContain(cookie.slice('duet_session='.length))
  })

  test('ends with a sign-out, and the browser is told to forget it', async () => {
    const operator = await signInAsOperator(duet)
    const response = await fetch(`${duet.url}/api/session`, {
      method: 'DELETE',
      headers: { ...CONSOLE_HEADERS, cookie: operator.cookie },
    })
    expect(response.status).toBe(204)
    expect(response.headers.get('set-cookie')).toMatch(/^duet_session=; Max-Age=0; /)
    expect(await statusOf(operator)).toBe(401)
  })

  test('survives a restart, and ends when its time is over', async () => {
    const first = await startDuet()
    const operator = await signInAsOperator(first)
    await first.stop()
    const second = await first.restart()
    const as = { headers: { cookie: operator.cookie } }
    expect((await fetch(`${second.url}/api/session`, as)).status).toBe(200)
    await second.stop()
    const tables = await openTablesOf(first.folder)
    expect(await tables.run('UPDATE sessions SET expires_at = ?', Date.now() - 1)).toBe(1)
    await tables.close()
    const third = await first.restart()
    expect((await fetch(`${third.url}/api/session`, as)).status).toBe(401)
    await third.stop()
  })

  describe('that is used', () => {
    const DAY_MS = 86_400_000
    let first: Duet
    let operator: Person
    beforeAll(async () => {
      first = await startDuet()
      operator = await signInAsOperator(first)
    })
    afterAll(() => first.stop())

    /** As if the session had begun and was last used at other times. */
    async function moveTo(createdAt: number, lastSeenAt: number): Promise<void> {
      await first.stop()
      const tables = await openTablesOf(first.folder)
      await tables.run('UPDATE sessions SET created_at = ?, last_seen_at = ?', createdAt, lastSeenAt)
      await tables.close()
      first = await first.restart()
    }

    const use = async () => {
      const response = await fetch(`${first.url}/api/sessions`, { headers: { cookie: operator.cookie } })
      expect(response.status).toBe(200)
      const { data } = (await response.json()) as { data: { expires_at: string }[] }
      const [cookie, age = ''] = (response.headers.get('set-cookie') ?? '').split('; ')
      return {
        cookie,
        seconds: Number(/^Max-Age=(\d+)$/.exec(age)?.[1]),
        expires: Date.parse(data[0]?.expires_at ?? ''),
      }
    }

    test('within a minute is left as it is', async () => {
      const before = await use()
      expect(before.cookie).toBe('')
      expect((await use()).expires).toBe(before.expires)
    })

    test('a minute later lasts for another two weeks, and the browser is told so', async () => {
      const now = Date.now()
      await moveTo(now - DAY_MS, now - 61_000)
      const { cookie, seconds, expires } = await use()
      expect([cookie, seconds]).toEqual([operator.cookie, (14 * DAY_MS) / 1000])
      expect(expires).toBeGreaterThanOrEqual(now + 14 * DAY_MS)
      expect((await use()).cookie).toBe('')
    })

    test('however often ends ninety days after it began', async () => {
      const createdAt = Date.now() - 89 * DAY_MS
      await moveTo(createdAt, Date.now() - 61_000)
      const { cookie, seconds, expires } = await use()
      expect([cookie, expires]).toEqual([operator.cookie, createdAt + 90 * DAY_MS])
      expect(seconds).toBeLessThanOrEqual(DAY_MS / 1000)
      expect(seconds).toBeGreaterThan(0)
    })
  })

  describe('in the store', () => {
    const user = { id: 'usr', name: 'ada', password: 'hash of the first', createdAt: 0 }
    const sessionAt = (at: number) => ({
      ...{ id: `ses_${at}`, tokenHash: `token ${at}`, userId: 'usr', createdAt: at, lastSeenAt: at },
      ...{ expiresAt: 1_000_000, address: '', client: '' },
    })

    async function openPeople() {
      const { people, close } = await openStoreOf(newFolder())
      const invite = { id: 'inv', kind: 'invite', role: 'member', userId: undefined, accountId: undefined } as const
      await people.createInvite({ ...invite, tokenHash: 'link', name: undefined, createdAt: 0, expiresAt: 1_000_000 })
      await people.accept('link', user, { id: 'acc', name: 'ada', group: 'default', createdAt: 0 })
      return { people, close }
    }

    test('is not made for a password that was changed since it was checked', async () => {
      const { people, close } = await openPeople()
      await people.changeUser('usr', { password: 'hash of the second' })
      expect(await people.createSession(sessionAt(1), 'hash of the first')).toBe(false)
      expect(await people.session('token 1', 2)).toBeUndefined()
      expect(await people.createSession(sessionAt(3), 'hash of the second')).toBe(true)
      expect((await people.session('token 3', 4))?.user.name).toBe('ada')
      await close()
    })

    test('is not made for somebody who was shut out since then', async () => {
      const { people, close } = await openPeople()
      await people.changeUser('usr', { enabled: false })
      expect(await people.createSession(sessionAt(1), user.password)).toBe(false)
      await people.changeUser('usr', { enabled: true })
      expect(await people.sessions('usr', 2)).toEqual([])
      await close()
    })

    test('is one of fifty of a user: one more, and the one ends that was not used for the longest time', async () => {
      const { people, close } = await openPeople()
      for (let at = 1; at <= 50; at++) await people.createSession(sessionAt(at), user.password)
      expect(await people.sessions('usr', 60)).toHaveLength(50)
      await people.seen('ses_1', { lastSeenAt: 60, expiresAt: 1_000_000, address: '', client: '' })
      expect(await people.createSession(sessionAt(61), user.password)).toBe(true)
      const ids = (await people.sessions('usr', 62)).map(({ id }) => id)
      expect(ids).toHaveLength(50)
      expect(ids.slice(0, 2)).toEqual(['ses_61', 'ses_1'])
      expect(ids).not.toContain('ses_2')
      await close()
    })
  })

  test('does not help whoever sends a wrong token', async () => {
    const { cookie } = await signInAsOperator(duet)
    const headers = { cookie, authorization: 'Bearer nonsense' }
    expect((await fetch(`${duet.url}/api/session`, { headers })).status).toBe(401)
  })

  test('of the admin token is nobody', async () => {
    const { status, body } = await duet.admin('GET', '/api/session')
    expect([status, body.user, body.account, body.role]).toEqual([200, null, null, 'admin'])
    expect((await duet.admin('GET', '/api/sessions')).body.data).toEqual([])
  })

  test('names the accounts to choose from: all for admins, their own for members', async () => {
    const { body: account } = await duet.admin('POST', '/api/accounts', { name: 'to choose from' })
    const member = await inviteMember(duet, 'chooser')
    const own = { id: member.session.account.id, name: 'chooser' }
    const accountsFor = async ({ call }: Pick<Person, 'call'>) => (await call('GET', '/api/session')).body.accounts
    expect(await accountsFor(member)).toEqual([own])
    const all = [{ id: 'default', name: 'default' }, { id: account.id, name: 'to choose from' }, own]
    const token = { call: (method: string, path: string) => duet.admin(method, path) }
    for (const admin of [await signInAsOperator(duet), token]) {
      const seen = await accountsFor(admin)
      for (const one of all) expect(seen).toContainEqual(one)
    }
  })
})

describe('signing in', () => {
  test('works with the name in any case', async () => {
    await signInAsOperator(duet)
    expect((await signIn(duet, { ...OPERATOR, name: 'Operator' })).name).toBe('operator')
  })

  test('says the same of a wrong password and of a name that nobody has', async () => {
    const wrong = await knock(duet, '/api/session', { ...OPERATOR, password: 'not the password' })
    const unknown = await knock(duet, '/api/session', { ...OPERATOR, name: 'nobody' })
    expect([wrong.status, wrong.body.error.code]).toEqual([401, 'invalid_login'])
    expect([unknown.status, unknown.body]).toEqual([wrong.status, wrong.body])
    expect(wrong.headers.get('set-cookie')).toBeNull()
  })

  test('is refused after ten failures, with the right password too, and for this name alone', async () => {
    await signInAsOperator(duet)
    const member = await inviteMember(duet, 'guessed')
    const guess = (password: string) => knock(duet, '/api/session', { name: 'guessed', password })
    for (let guesses = 0; guesses < 10; guesses++) expect((await guess(`guess ${guesses}`)).status).toBe(401)
    const { status, body, headers } = await guess('the password of guessed')
    expect([status, body.error.code]).toEqual([429, 'too_many_attempts'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await knock(duet, '/api/session', { name: 'GUESSED', password: 'x' })).status).toBe(429)
    expect((await signIn(duet, OPERATOR)).name).toBe('operator')
    // Who is in stays in: otherwise anybody could throw anybody out.
    expect(await statusOf(member)).toBe(200)
  })

  test('counts guesses that are made at once', async () => {
    await inviteMember(duet, 'crowded')
    const guesses = Array.from({ length: 30 }, (_, n) => ({ name: 'crowded', password: `guess ${n}` }))
    const answers = await Promise.all(guesses.map(guess => knock(duet, '/api/session', guess)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter(status => status === 401).length).toBeLessThanOrEqual(10)
    expect(statuses.filter(status => status !== 401 && status !== 429)).toEqual([])
  })

  test('does not count guesses that nobody looked at, because too many came at once', async () => {
    await inviteMember(duet, 'popular')
    const guess = async () => (await knock(duet, '/api/session', { name: 'popular', password: 'a guess' })).status
    const statuses = await Promise.all(Array.from({ length: 30 }, guess))
    while (statuses.filter(status => status === 401).length < 10) {
      const status = await guess()
      expect(status).toBe(401)
      statuses.push(status)
    }
    expect(await guess()).toBe(429)
  })

  test('is not refused to somebody in whose name others fail elsewhere', async () => {
    await inviteMember(duet, 'envied')
    const given = { name: 'envied', password: 'the password of envied' }
    for (let guesses = 0; guesses < 10; guesses++) {
      expect(await knockFrom('127.0.0.2', { ...given, password: `guess ${guesses}` })).toBe(401)
    }
    expect(await knockFrom('127.0.0.2', given)).toBe(429)
    expect((await signIn(duet, given)).name).toBe('envied')
    expect(await knockFrom('127.0.0.2', given)).toBe(429)
  })

  /** From another address of this machine, which `fetch` cannot choose. */
  async function knockFrom(address: string, given: object): Promise<number> {
    const headers = Object.entries(CONSOLE_HEADERS).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const words = ['-sS', '--interface', address, ...headers, '-d', JSON.stringify(given)]
    const curl = Bun.spawn(['curl', ...words, '-o', '/dev/null', '-w', '%{http_code}', `${duet.url}/api/session`])
    return Number(await new Response(curl.stdout).text())
  }
})

describe('behind a proxy', () => {
  const TRIES = 11

  /** Somebody who is wrong, as a proxy passes them on. */
  const fail = async (duet: Duet, forwardedFor: string): Promise<number> => {
    const headers = { ...CONSOLE_HEADERS, 'x-forwarded-for': forwardedFor }
    return (await knock(duet, '/api/session', { name: OPERATOR.name, password: 'wrong' }, headers)).status
  }

  test('that is trusted, those who fail are told apart by the address that it has seen', async () => {
    const trusting = await startDuet({ env: { DUET_TRUST_PROXY: 'true' } })
    for (let tries = 1; tries < TRIES; tries++) expect(await fail(trusting, '203.0.113.7')).toBe(401)
    expect(await fail(trusting, '203.0.113.7')).toBe(429)
    // What stands before the last one is whatever somebody wrote.
    expect(await fail(trusting, '203.0.113.99, 203.0.113.7')).toBe(429)
    expect(await fail(trusting, '203.0.113.8')).toBe(401)
    await trusting.stop()
  })

  test('that is not trusted, nobody makes up an address', async () => {
    const careful = await startDuet()
    for (let tries = 1; tries < TRIES; tries++) expect(await fail(careful, `203.0.113.${tries}`)).toBe(401)
    expect(await fail(careful, '203.0.113.200')).toBe(429)
    await careful.stop()
  })
})

describe('a new password', () => {
  const change = (person: Person, current: string, password: string) =>
    person.call('PUT', '/api/session/password', { current, password })

  test('needs the current one, and enough characters', async () => {
    const member = await inviteMember(duet, 'cautious')
    const wrong = await change(member, 'not the password', 'another password')
    expect([wrong.status, wrong.body.error.code, wrong.body.error.param]).toEqual([403, 'wrong_password', 'current'])
    expect((await change(member, 'the password of cautious', 'short')).status).toBe(422)
    expect((await signIn(duet, { name: 'cautious', password: 'the password of cautious' })).name).toBe('cautious')
  })

  test('ends the other sessions, and the old password with them', async () => {
    const here = await inviteMember(duet, 'moving')
    const old = { name: 'moving', password: 'the password of moving' }
    const elsewhere = await signIn(duet, old)
    expect((await change(here, old.password, 'another password')).status).toBe(204)
    expect([await statusOf(here), await statusOf(elsewhere)]).toEqual([200, 401])
    expect((await knock(duet, '/api/session', old)).status).toBe(401)
    expect((await signIn(duet, { name: 'moving', password: 'another password' })).name).toBe('moving')
  })

  test('cannot be guessed at without end by whoever finds an open browser', async () => {
    const member = await inviteMember(duet, 'away')
    const guess = async () => (await change(member, 'not the password', 'another password')).status
    const statuses = []
    for (let guesses = 0; guesses < 11; guesses++) statuses.push(await guess())
    expect(statuses).toEqual([...Array(10).fill(403), 429])
  })
})

describe('the list of sessions', () => {
  const sessionsOf = async (person: Person) => (await person.call('GET', '/api/sessions')).body.data

  test('shows where somebody is signed in, and which one is asking', async () => {
    const here = await inviteMember(duet, 'listed')
    await signIn(duet, { name: 'listed', password: 'the password of listed' })
    const rows = await sessionsOf(here)
    expect(rows).toHaveLength(2)
    expect(rows.filter(({ current }: { current: boolean }) => current)).toHaveLength(1)
    expect(rows[0]).toMatchObject({ address: '127.0.0.1', client: expect.stringContaining('Bun') })
    expect(JSON.stringify(rows)).not.toContain(here.cookie.slice('duet_session='.length))
  })

  test('ends one of them, or all others', async () => {
    const here = await inviteMember(duet, 'many')
    const again = () => signIn(duet, { name: 'many', password: 'the password of many' })
    const [second, third, fourth] = [await again(), await again(), await again()]
    const { id } = (await sessionsOf(second)).find(({ current }: { current: boolean }) => current)
    expect((await here.call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    expect(await statusOf(second)).toBe(401)
    expect((await here.call('DELETE', `/api/sessions/${id}`)).status).toBe(404)
    expect((await here.call('DELETE', '/api/sessions')).status).toBe(204)
    expect([await statusOf(here), await statusOf(third), await statusOf(fourth)]).toEqual([200, 401, 401])
  })

  test('ends nobody else’s', async () => {
    const other = await inviteMember(duet, 'other')
    const [{ id }] = await sessionsOf(other)
    const operator = await signInAsOperator(duet)
    expect((await operator.call('DELETE', `/api/sessions/${id}`)).status).toBe(404)
    expect(await statusOf(other)).toBe(200)
  })
})

describe('another site', () => {
  const FOREIGN: [what: string, headers: Record<string, string>][] = [
    ['without the console’s header', { 'content-type': 'application/json' }],
    ['that posts a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['with another origin', { ...CONSOLE_HEADERS, origin: 'https://elsewhere.example' }],
    ['with an origin that is none', { ...CONSOLE_HEADERS, origin: 'null' }],
    ['on another port of this machine', { ...CONSOLE_HEADERS, origin: 'http://127.0.0.1:1' }],
    ['as the browser says', { ...CONSOLE_HEADERS, 'sec-fetch-site': 'cross-site' }],
    ['of the same domain, as the browser says', { ...CONSOLE_HEADERS, 'sec-fetch-site': 'same-site' }],
  ]

  for (const [what, headers] of FOREIGN) {
    test(`${what} changes nothing with somebody’s cookie`, async () => {
      const { cookie } = await signInAsOperator(duet)
      const answer = await knock(duet, '/api/accounts', { name: `forged ${what}` }, { ...headers, cookie })
      expect([answer.status, answer.body.error.code]).toEqual([403, 'cross_site'])
      const { body } = await duet.admin('GET', '/api/accounts?limit=500')
      expect(JSON.stringify(body)).not.toContain('forged')
    })

    test(`${what} signs nobody in`, async () => {
      const answer = await knock(duet, '/api/session', OPERATOR, headers)
      expect([answer.status, answer.body.error.code]).toEqual([403, 'cross_site'])
      expect(answer.headers.get('set-cookie')).toBeNull()
    })
  }

  test('is not allowed to send the console’s header', async () => {
    const response = await fetch(`${duet.url}/api/accounts`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://elsewhere.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-duet-console',
      },
    })
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    expect(response.headers.get('access-control-allow-headers')).toBeNull()
  })

  test('is what the console is not, by its own address', async () => {
    const { cookie } = await signInAsOperator(duet)
    const headers = { ...CONSOLE_HEADERS, cookie, origin: duet.url, 'sec-fetch-site': 'same-origin' }
    expect((await knock(duet, '/api/accounts', { name: 'made by the console' }, headers)).status).toBe(201)
  })

  test('has nothing to do with scripts that send the admin token', async () => {
    const headers = { authorization: `Bearer ${duet.adminToken}`, 'content-type': 'application/json' }
    expect((await knock(duet, '/api/accounts', { name: 'made by a script' }, headers)).status).toBe(201)
  })
})

describe('the page of the console', () => {
  test('runs nothing but its own scripts, and can be framed by nobody', async () => {
    for (const path of ['/console', '/console/welcome', '/console/keys/anything']) {
      const response = await fetch(duet.url + path)
      const policy = response.headers.get('content-security-policy') ?? ''
      expect(policy).toContain("script-src 'self'")
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      expect(response.headers.get('referrer-policy')).toBe('no-referrer')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test('has no script and no style in it, and names nothing of another host', async () => {
    const html = await (await fetch(`${duet.url}/console`)).text()
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/i)
    const named = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url = '']) => url)
    expect(named.length).toBeGreaterThan(1)
    expect(named.filter(url => !/^(\/console\/|data:)/.test(url))).toEqual([])
  })
})
