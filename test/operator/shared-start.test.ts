import { expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newDatabase } from '../support/databases.ts'
import { type Duet, failToStart, newFolder, startDuet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'
import { DATABASE_PASSWORD } from '../support/postgres.ts'

/** The start of a Duet whose store is PostgreSQL: what is asked of the machine, and what is not. */

const SECRET = 'secret-of-all-replicas'
const TEST_MS_MAX = 30_000

const statusWith = async ({ url }: Duet, token: string): Promise<number> =>
  (await fetch(`${url}/api/accounts`, { headers: { authorization: `Bearer ${token}` } })).status

const tokenOf = ({ folder }: Duet): string => readFileSync(join(folder, 'data/admin-token'), 'utf8').trim()

test(
  'replicas that are given no admin token have the same one, which follows from their secret and is in a file',
  async () => {
    const database = await newDatabase()
    const env = { DUET_DATABASE_URL: database, DUET_SECRET: SECRET, DUET_ADMIN_TOKEN: '' }
    const [one, other] = await Promise.all([startDuet({ env }), startDuet({ env })])
    expect(tokenOf(one)).toMatch(/^duet-admin-[\w-]{43}$/)
    expect(tokenOf(other)).toBe(tokenOf(one))
    expect(statSync(join(one.folder, 'data/admin-token')).mode & 0o777).toBe(0o600)
    expect([await statusWith(one, tokenOf(other)), await statusWith(other, tokenOf(one))]).toEqual([200, 200])
    expect(await statusWith(one, `duet-admin-${SECRET}`)).toBe(401)
    // The database of theirs is all they have: no file of it, and no secret beside it.
    expect(existsSync(join(one.folder, 'data/duet.db'))).toBe(false)
    expect(existsSync(join(one.folder, 'data/secret'))).toBe(false)
    await Promise.all([one.stop(), other.stop()])

    const stranger = await startDuet({
      env: { ...env, DUET_DATABASE_URL: await newDatabase(), DUET_SECRET: `${SECRET}-2` },
    })
    expect(tokenOf(stranger)).not.toBe(tokenOf(one))
    await stranger.stop()
  },
  TEST_MS_MAX,
)

test('a token of another secret that is in the file is replaced: the command line would be refused with it', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data/admin-token'), 'duet-admin-of-another-time\n')
  const env = { DUET_DATABASE_URL: await newDatabase(), DUET_SECRET: SECRET, DUET_ADMIN_TOKEN: '' }
  const duet = await startDuet({ folder, env })
  expect(await statusWith(duet, tokenOf(duet))).toBe(200)
  expect(await statusWith(duet, 'duet-admin-of-another-time')).toBe(401)
  await duet.stop()
})

test('a data folder that cannot be written to is no obstacle', async () => {
  const folder = newFolder()
  // A file in its place: not even root can make a folder of that.
  writeFileSync(join(folder, 'data'), '')
  chmodSync(join(folder, 'data'), 0o400)
  const env = { DUET_DATABASE_URL: await newDatabase(), DUET_SECRET: SECRET, DUET_ADMIN_TOKEN: '' }
  const duet = await startDuet({ folder, env })
  expect((await post(duet, CHAT, { model: 'openai/gpt-4.1', messages: user('Hi') })).status).toBe(200)
  expect(duet.output()).not.toContain('token in')
  expect(await duet.stop()).toBe(0)
})

test('a database that does not let us in, or is not there, is told in one line without the password', async () => {
  const url = new URL(await newDatabase())
  const wrong = new URL(url)
  wrong.password = 'not-the-password-of-anyone'
  const missing = new URL(url)
  missing.pathname = '/no_such_database'
  for (const [place, words] of [
    [wrong, 'password authentication failed'],
    [missing, 'database "no_such_database" does not exist'],
  ] as const) {
    const { code, output } = await failToStart({ env: { DUET_DATABASE_URL: place.href, DUET_SECRET: SECRET } })
    expect(code).toBe(1)
    expect(output).toStartWith(`duet: cannot start: the database of DUET_DATABASE_URL says: ${words}`)
    expect(output.trimEnd().split('\n')).toHaveLength(1)
    for (const secret of [DATABASE_PASSWORD, wrong.password]) expect(output).not.toContain(secret)
  }
})
