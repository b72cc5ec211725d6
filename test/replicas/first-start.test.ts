import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Duet, KEY } from '../support/duet.ts'
import { firstLink } from '../support/people.ts'
import { type Fleet, START_MS_MAX, startFleet } from './fleet.ts'

/** Three that start together on an empty database, and were given no key. */
let fleet: Fleet
beforeAll(async () => {
  fleet = await startFleet(3, { env: { DUET_BOOTSTRAP_KEY: '' } })
}, START_MS_MAX)
afterAll(() => fleet.stop())

const countOf = async (what: string): Promise<number> => {
  const [row] = await fleet.query<{ n: string }>(`SELECT count(*) AS n FROM ${what}`)
  return Number(row?.n)
}

const shows = (text: RegExp) => fleet.replicas.filter(({ output }) => text.test(output()))

test('replicas that start together make one account, with one key and one opening balance', async () => {
  expect(await Promise.all(['accounts', 'keys', 'entries', 'deposits'].map(countOf))).toEqual([1, 1, 1, 1])
  const [account] = await fleet.query('SELECT id, balance FROM accounts')
  expect(account).toEqual({ id: 'default', balance: '100000000000' })
})

test('one of them shows the key, which works on all', async () => {
  const showing = shows(/sk-duet-/)
  expect(showing).toHaveLength(1)
  const [key = expect.unreachable()] = /sk-duet-[\w-]+/.exec((showing[0] as Duet).output()) ?? []
  const statuses = fleet.replicas.map(async ({ base }) => {
    const answer = await fetch(`${base}/models`, { headers: { authorization: `Bearer ${key}` } })
    return answer.status
  })
  expect(await Promise.all(statuses)).toEqual([200, 200, 200])
})

test('one of them shows the link that lets the operator in', async () => {
  const showing = shows(/console\/welcome#/)
  expect(showing).toHaveLength(1)
  expect(firstLink(showing[0] as Duet)).toMatch(/#.{20,}$/)
  expect(await countOf('invites')).toBe(1)
})

test('a key that was given is made once, and shown by one', async () => {
  const given = await startFleet(2)
  const keys = await given.query('SELECT id FROM keys')
  await given.stop()
  expect(keys).toHaveLength(1)
  expect(given.replicas.filter(({ output }) => output().includes(KEY))).toHaveLength(1)
})
