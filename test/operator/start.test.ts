import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { STORE, storeEnv } from '../support/databases.ts'
import { type Duet, failToStart, type JsonBody, newFolder, startDuet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'
import { SECRET_FILES, storedBytes } from '../support/stored.ts'
import { eventually } from '../support/wire.ts'

/** Alone on PostgreSQL: a whole lease passes before the dead are known to be dead, and another until somebody may say so. */
const RECOVERED_MS_MAX = 40_000

/** Root may write anywhere, but for this privilege. */
const CONFINED = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override'] : []
const canConfine = CONFINED.length === 0 || Bun.which('setpriv') !== null

describe('the first start', () => {
  let duet: Duet
  beforeAll(async () => {
    duet = await startDuet({ env: { DUET_BOOTSTRAP_KEY: '', DUET_ADMIN_TOKEN: '' } })
  })
  afterAll(() => duet.stop())

  const printedKey = () => /API key\s+(sk-duet-\S+)/.exec(duet.output())?.[1] ?? ''

  test('prints the base URL and a key of 43 url-safe characters', () => {
    expect(duet.output()).toContain(`Base URL        ${duet.base}`)
    expect(printedKey()).toMatch(/^sk-duet-[A-Za-z0-9_-]{43}$/)
  })

  test('prints a curl line for each protocol that works when pasted', async () => {
    const lines = duet
      .output()
      .split('\n')
      .filter(line => line.startsWith('curl '))
    expect(lines).toHaveLength(2)
    const [chat, messages] = await Promise.all(lines.map(paste))
    expect(chat.choices[0].message.content).toContain('Hello')
    expect(messages.content[0].text).toContain('Hello')
  })

  test('prints a link that signs in to the console, and the console is where the link leads', async () => {
    const link = /Console\s+(\S+)/.exec(duet.output())?.[1] ?? ''
    expect(link).toMatch(new RegExp(`^${duet.url}/console/welcome#[A-Za-z0-9_-]{43}$`))
    const page = await fetch(link)
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toStartWith('text/html')
  })

  test('creates the account default with $100 and one key without a cap', async () => {
    const token = (await Bun.file(join(duet.folder, 'data/admin-token')).text()).trim()
    const headers = { authorization: `Bearer ${token}` }
    const accounts = await getJson(`${duet.url}/api/accounts`, headers)
    expect(accounts.data).toHaveLength(1)
    expect(accounts.data[0]).toMatchObject({ name: 'default', group: 'default' })
    expect(Number(accounts.data[0].balance) + Number(accounts.data[0].spent)).toBeCloseTo(100, 9)
    const keys = await getJson(`${duet.url}/api/keys`, headers)
    expect(keys.data).toHaveLength(1)
    expect(keys.data[0]).toMatchObject({ account: accounts.data[0].id, cap: null, remaining: null })
  })

  test('keeps generated secrets from others, and the key itself nowhere', async () => {
    // Replicas are given the secret that they share.
    for (const file of STORE === 'sqlite' ? SECRET_FILES : ['admin-token']) {
      expect(statSync(join(duet.folder, 'data', file)).mode & 0o777).toBe(0o600)
    }
    const stored = await storedBytes(duet.folder)
    expect(stored).toContain('sandbox')
    expect(stored).not.toContain(printedKey())
  })
})

describe('a later start', () => {
  test('prints the addresses only, and everything is still there', async () => {
    const first = await startDuet()
    expect((await post(first, CHAT, { model: 'openai/gpt-4.1', messages: user('Hi') })).status).toBe(200)
    const { body: before } = await first.admin('GET', '/api/accounts/default')
    expect(await first.stop()).toBe(0)
    const second = await first.restart()
    expect(second.output()).toContain('Base URL')
    expect(second.output()).not.toContain('sk-duet-')
    expect(second.output()).not.toContain('curl ')
    expect(second.output()).toContain(`Console         ${second.url}/console\n`)
    expect((await second.admin('GET', '/api/accounts/default')).body).toEqual(before)
    expect((await post(second, CHAT, { model: 'openai/gpt-4.1', messages: user('Hi') })).status).toBe(200)
    await second.stop()
  })

  test(
    `after kill -9 releases what was held${STORE === 'sqlite' ? '' : ', once it can be sure that nobody else does'}`,
    async () => {
      const first = await startDuet()
      const stalled = post(first, CHAT, { model: 'openai/gpt-4.1', messages: user('[[stall]]') }).catch(() => 'cut')
      while ((await first.admin('GET', '/api/accounts/default')).body.held === '0.00') await Bun.sleep(5)
      await first.stop('SIGKILL')
      expect(await stalled).toBe('cut')
      const second = await first.restart()
      const account = async () => (await second.admin('GET', '/api/accounts/default')).body
      if (STORE === 'postgres') await eventually(account, ({ held }) => held === '0.00', RECOVERED_MS_MAX)
      expect(await account()).toMatchObject({ balance: '100.00', held: '0.00' })
      await second.stop()
    },
    RECOVERED_MS_MAX + 20_000,
  )

  test.if(STORE === 'postgres')('on a database that another Duet uses serves beside it', async () => {
    const first = await startDuet()
    const second = await startDuet({ folder: first.folder })
    expect(second.output()).not.toContain('sk-duet-')
    for (const duet of [first, second]) {
      expect((await post(duet, CHAT, { model: 'openai/gpt-4.1', messages: user('Hi') })).status).toBe(200)
    }
    const [one, other] = await Promise.all([first, second].map(duet => duet.admin('GET', '/api/usage')))
    expect(one?.body.data).toHaveLength(2)
    expect(other?.body).toEqual(one?.body)
    expect(await Promise.all([first.stop(), second.stop()])).toEqual([0, 0])
  })

  // Its file has one owner.
  test.if(STORE === 'sqlite')('on a folder that another Duet uses is refused in plain words', async () => {
    const first = await startDuet()
    const { code, output } = await failToStart({ env: { DUET_DATA: join(first.folder, 'data') } })
    expect(code).toBe(1)
    expect(output).toContain('another Duet is using')
    await first.stop()
  })

  test.if(STORE === 'sqlite' && canConfine)('on a database that it may not write says whose it should be', async () => {
    const first = await startDuet()
    await first.stop()
    const database = join(first.folder, 'data/duet.db')
    chmodSync(database, 0o400)
    const second = Bun.spawnSync([...CONFINED, join(import.meta.dir, '../../bin/duet'), 'start'], {
      cwd: first.folder,
      env: { PATH: process.env.PATH, HOME: first.folder, DUET_PORT: '0', DUET_DATA: join(first.folder, 'data') },
    })
    expect(second.exitCode).toBe(1)
    expect(String(second.stderr)).toBe(
      `duet: cannot start: ${database} must be readable and writable: give it to the user that Duet runs as, or choose another folder with DUET_DATA\n`,
    )
  })
})

describe('the environment', () => {
  test('all faults are listed at once, and secrets are not repeated', async () => {
    const { code, output } = await failToStart({
      env: {
        DUET_PORT: 'http',
        DUET_DURABILITY: 'none',
        DUET_ADMIN_TOKEN: 'short-token',
        DUET_CONFIG: '/no/such.yaml',
      },
    })
    expect(code).toBe(1)
    for (const name of ['DUET_PORT', 'DUET_DURABILITY', 'DUET_ADMIN_TOKEN', 'DUET_CONFIG'])
      expect(output).toContain(name)
    expect(output).not.toContain('short-token')
  })

  for (const name of ['secret', 'admin-token']) {
    for (const [what, text] of [
      ['is empty', ''],
      ['has nothing but the end of a line', '\n'],
      ['was cut short', 'short-of-sixteen\n'.slice(1)],
    ] as const) {
      // Replicas are given the secret that they share, and make their token from it.
      test.if(STORE === 'sqlite')(
        `a generated ${name} that ${what} is refused in plain words, and left alone`,
        async () => {
          const data = join(newFolder(), 'data')
          mkdirSync(data)
          writeFileSync(join(data, name), text)
          const { code, output } = await failToStart({ env: { DUET_DATA: data } })
          expect(code).toBe(1)
          expect(output).toMatch(
            new RegExp(`^duet: cannot start: .*/data/${name} must hold at least 16 characters`, 'm'),
          )
          if (text.trim() !== '') expect(output).not.toContain(text.trim())
          expect(readFileSync(join(data, name), 'utf8')).toBe(text)
        },
      )
    }
  }

  test('a port that is taken is refused in plain words', async () => {
    const first = await startDuet()
    const { code, output } = await failToStart({ env: { DUET_PORT: new URL(first.url).port } })
    expect(code).toBe(1)
    expect(output).toMatch(/^duet: cannot start: .*port/im)
    await first.stop()
  })

  test('a first start that fails does not use up the first key', async () => {
    const blocker = await startDuet()
    const folder = newFolder()
    const env = { ...(await storeEnv(folder)), DUET_DATA: join(folder, 'data'), DUET_BOOTSTRAP_KEY: '' }
    expect((await failToStart({ env: { ...env, DUET_PORT: new URL(blocker.url).port } })).code).toBe(1)
    const duet = await startDuet({ env })
    expect(duet.output()).toMatch(/API key\s+sk-duet-/)
    await Promise.all([duet.stop(), blocker.stop()])
  })

  test('DUET_DURABILITY=power serves the same', async () => {
    const duet = await startDuet({ env: { DUET_DURABILITY: 'power' } })
    expect((await post(duet, CHAT, { model: 'openai/gpt-4.1', messages: user('Hi') })).status).toBe(200)
    await duet.stop()
  })

  test('a well-known vendor variable makes a channel, says so, and takes the place of the sandbox', async () => {
    const duet = await startDuet({ env: { DEEPSEEK_API_KEY: 'vendor-secret-123' } })
    expect(duet.output()).toContain('Channel deepseek made from DEEPSEEK_API_KEY')
    expect(duet.output()).not.toContain('vendor-secret-123')
    const { body } = await duet.admin('GET', '/api/channels')
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['deepseek'])
    expect(JSON.stringify(body)).not.toContain('vendor-secret-123')
    const models = await getJson(`${duet.base}/models`, { authorization: duet.key })
    expect(models.data.map(({ id }: { id: string }) => id)).toEqual([
      'deepseek/deepseek-chat',
      'deepseek/deepseek-reasoner',
    ])
    await duet.stop()
  })
})

const getJson = async (url: string, headers: Record<string, string>): Promise<JsonBody> =>
  (await fetch(url, { headers })).json()

async function paste(line: string): Promise<JsonBody> {
  const shell = Bun.spawn(['sh', '-c', `${line} -sS`], { stdout: 'pipe' })
  return JSON.parse(await new Response(shell.stdout).text())
}
