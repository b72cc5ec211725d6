import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Duet } from '../support/duet.ts'
import {
  acceptLink,
  CONSOLE_HEADERS,
  firstLink,
  inviteMember,
  knock,
  OPERATOR,
  type Person,
  signIn,
} from '../support/people.ts'
import { type Fleet, one, START_MS_MAX, startFleet } from './fleet.ts'

/** Who is signed in at one is signed in at all. */

let fleet: Fleet
let here: Duet
let there: Duet
let operator: Person
beforeAll(async () => {
  fleet = await startFleet(2)
  here = one(fleet.replicas, 0)
  there = one(fleet.replicas, 1)
  // The link was shown by whichever was first, and is used at the other one.
  const showing = fleet.replicas.find(({ output }) => output().includes('/console/welcome#')) ?? expect.unreachable()
  operator = await acceptLink(showing === here ? there : here, firstLink(showing), OPERATOR)
}, START_MS_MAX)
afterAll(() => fleet.stop())

const statusFor = async (duet: Duet, { cookie }: Person, path = '/api/session', method = 'GET'): Promise<number> =>
  (await fetch(duet.url + path, { method, headers: { ...CONSOLE_HEADERS, cookie } })).status

describe('a session', () => {
  test('that began at one is good at the other', async () => {
    const person = await signIn(here, OPERATOR)
    expect([await statusFor(here, person), await statusFor(there, person)]).toEqual([200, 200])
  })

  test('that is ended at one is over at the other', async () => {
    const person = await signIn(here, OPERATOR)
    expect(await statusFor(there, person, '/api/session', 'DELETE')).toBe(204)
    expect(await statusFor(here, person)).toBe(401)
  })

  test('ends everywhere else with a new password', async () => {
    const [kept, ended] = [
      await inviteMember(here, 'ada'),
      await signIn(there, { name: 'ada', password: 'the password of ada' }),
    ]
    const change = { current: 'the password of ada', password: 'another password of ada' }
    expect((await kept.call('PUT', '/api/session/password', change)).status).toBe(204)
    expect([await statusFor(there, kept), await statusFor(there, ended)]).toEqual([200, 401])
  })

  test('of somebody who was shut out at one is over at the other', async () => {
    const person = await inviteMember(here, 'grace')
    expect(await statusFor(there, person)).toBe(200)
    const { body } = await here.admin('GET', '/api/users')
    const { id } = body.data.find(({ name }: { name: string }) => name === 'grace')
    expect((await here.admin('PATCH', `/api/users/${id}`, { enabled: false })).status).toBe(200)
    expect(await statusFor(there, person)).toBe(401)
  })

  test('of the operator began with a link that another replica had shown', async () => {
    expect(operator.name).toBe(OPERATOR.name)
    expect([await statusFor(here, operator), await statusFor(there, operator)]).toEqual([200, 200])
  })
})

test('an invitation is used once, whoever tries it where', async () => {
  const { body } = await here.admin('POST', '/api/invites', { role: 'member' })
  const token = body.link.slice(body.link.indexOf('#') + 1)
  const tries = [1, 2, 3, 4].map(place =>
    knock(place % 2 ? here : there, '/api/invites/accept', {
      token,
      name: `guest-${place}`,
      password: 'a password of guests',
    }),
  )
  const statuses = (await Promise.all(tries)).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([201, 404, 404, 404])
})

describe('whoever was wrong ten times', () => {
  const guess = (duet: Duet, name: string) => knock(duet, '/api/session', { name, password: 'a wrong password' })

  test('at any of them is refused at all, and told for how long', async () => {
    for (let count = 0; count < 10; count++) expect((await guess(count % 2 ? here : there, 'linus')).status).toBe(401)
    for (const duet of [here, there]) {
      const { status, headers } = await guess(duet, 'linus')
      expect(status).toBe(429)
      expect(Number(headers.get('retry-after'))).toBeWithin(800, 901)
    }
  })

  test('leaves no name that was typed in the database', async () => {
    await guess(here, 'a-password-in-the-wrong-field')
    const rows = await fleet.query('SELECT who FROM attempts')
    expect(rows.length).toBeGreaterThan(0)
    expect(JSON.stringify(rows)).not.toContain('a-password-in-the-wrong-field')
    expect(JSON.stringify(rows)).not.toContain('127.0.0.1')
  })
})
