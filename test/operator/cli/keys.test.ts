import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../../support/duet.ts'
import { CHAT, post, user } from '../../support/http.ts'
import { commandsFor, type Ran, readTable, shell, toward } from './run.ts'

let server: Duet
let duet: (...args: string[]) => Promise<Ran>
let json: ReturnType<typeof commandsFor>['json']
beforeAll(async () => {
  server = await startDuet()
  ;({ duet, json } = commandsFor(server))
})
afterAll(() => server.stop())

const SECRET = /^sk-duet-[A-Za-z0-9_-]{43}$/

const keyOf = async (id: string) => (await server.admin('GET', `/api/keys/${id}`)).body
const newKey = (...more: string[]) => json('keys', 'create', '--name', 'a key', ...more)
const call = async (key: string, model = 'openai/gpt-4.1') =>
  (await post(server, CHAT, { model, messages: user('Hello') }, { key })).status

describe('duet keys create', () => {
  test('prints the secret alone to stdout, and everything else to stderr', async () => {
    const { code, out, err } = await duet('keys', 'create', '--name', 'ci')
    expect(code).toBe(0)
    expect(out.trimEnd()).toMatch(SECRET)
    expect(err).toMatch(/^key key_\w+ \(ci\) of account default: no cap$/m)
    expect(err).not.toContain(out.trim())
    expect(await call(out.trim())).toBe(200)
  })

  test('can be taken into a variable', async () => {
    const line = 'KEY=$(duet keys create --name ci 2>/dev/null) && printf "[%s]" "$KEY"'
    const { code, out, err } = await shell(line, { env: toward(server) })
    expect([code, err]).toEqual([0, ''])
    expect(out.slice(1, -1)).toMatch(SECRET)
  })

  test('with --quiet prints the secret and nothing else; with --json the whole answer', async () => {
    const quiet = await duet('keys', 'create', '--name', 'ci', '--quiet')
    expect([quiet.out.trim(), quiet.err]).toEqual([expect.stringMatching(SECRET), ''])
    const { key, ...view } = await newKey()
    expect(key).toMatch(SECRET)
    expect(view).toEqual(await keyOf(view.id))
  })

  test('sets account, cap, expiry and models', async () => {
    const { id: account } = await json('accounts', 'create', 'team-a', '--balance', '3')
    const options = ['--account', 'team-a', '--cap', '5', '--models', 'openai/gpt-4.1, x-ai/grok-4']
    const { id, key } = await newKey(...options, '--expires', '30d')
    const view = await keyOf(id)
    expect(view).toMatchObject({ account, cap: '5.00', models: ['openai/gpt-4.1', 'x-ai/grok-4'] })
    const days = (Date.parse(view.expires_at) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(29.9)
    expect(days).toBeLessThan(30.1)
    expect(await call(key)).toBe(200)
    expect(await call(key, 'openai/gpt-5.2')).toBe(403)
  })

  const TIMES = [
    ['2030-12-31T08:30:00Z', '2030-12-31T08:30:00.000Z'],
    ['2030-12-31T08:30:00+02:00', '2030-12-31T06:30:00.000Z'],
    ['2030-12-31', '2030-12-31T00:00:00.000Z'],
    ['2030-12-31T08:30', '2030-12-31T08:30:00.000Z'],
  ] as const
  for (const [text, time] of TIMES) {
    test(`understands --expires ${text}`, async () => {
      expect((await newKey('--expires', text)).expires_at).toBe(time)
    })
  }

  for (const text of ['tomorrow', '30', '30x', '2030-13-45', '2030-02-30', '2030-02-30T00:00:00Z', '20300-01-01']) {
    test(`refuses --expires "${text}" with 2, and makes no key`, async () => {
      const before = (await json('keys', 'list')).data.length
      const { code, out, err } = await duet('keys', 'create', '--name', 'ci', `--expires=${text}`)
      expect([code, out]).toEqual([2, ''])
      expect(err).toStartWith(`duet: --expires: "${text}" is neither a span`)
      expect((await json('keys', 'list')).data).toHaveLength(before)
    })
  }

  test('for an account that is not there ends with 1, and prints no secret', async () => {
    const { code, out, err } = await duet('keys', 'create', '--name', 'ci', '--account', 'nobody')
    expect([code, out, err]).toEqual([1, '', 'duet: account: there is no account nobody\n'])
  })
})

describe('duet keys list', () => {
  test('shows what keys may spend, have spent, and whether they work; never a secret', async () => {
    const { id, key } = await newKey('--cap', '5')
    await call(key)
    const disabled = await newKey()
    await duet('keys', 'disable', disabled.id)
    const expired = await newKey('--expires', '2020-01-01')
    const { code, out } = await duet('keys', 'list')
    expect(code).toBe(0)
    const rows = new Map(readTable(out).map(row => [row.ID, row]))
    expect(rows.get(id)).toMatchObject({ NAME: 'a key', ACCOUNT: 'default', STATE: 'enabled' })
    expect(Number(rows.get(id)?.CAP)).toBe(5)
    expect(Number(rows.get(id)?.SPENT)).toBeGreaterThan(0)
    expect(Number(rows.get(id)?.REMAINING)).toBeCloseTo(5 - Number(rows.get(id)?.SPENT), 9)
    expect(rows.get(id)?.['LAST USED']).toMatch(/^\d{4}-/)
    expect(rows.get(disabled.id)?.STATE).toBe('disabled')
    expect(rows.get(expired.id)?.STATE).toBe('expired')
    expect(out).not.toContain(key)
  })

  test('of one account lists only its keys', async () => {
    const { id: account } = await json('accounts', 'create', 'team-b')
    const { id } = await newKey('--account', account)
    expect((await duet('keys', 'list', '--account', 'team-b', '--quiet')).out).toBe(`${id}\n`)
    expect((await json('keys', 'list', '--account', 'team-b')).data).toEqual([await keyOf(id)])
    const { code, out, err } = await duet('keys', 'list', '--account', 'nobody')
    expect([code === 0, out, err]).toEqual([false, '', expect.stringMatching(/^duet: .*nobody.*\n$/)])
  })
})

describe('duet keys list, where keys have limits', () => {
  test('shows them', async () => {
    await duet('accounts', 'create', 'team-c')
    const of = ['--account', 'team-c']
    const free = await newKey(...of)
    expect((await duet('keys', 'list', ...of)).out).not.toContain('LIMITS')
    const limited = await newKey(...of, '--max-concurrent', '4', '--max-per-minute', '60')
    const rows = new Map(readTable((await duet('keys', ...of)).out).map(row => [row.ID, row]))
    expect(rows.get(limited.id)).toMatchObject({ LIMITS: '4 at once, 60 a minute', STATE: 'enabled' })
    expect(rows.get(free.id)).toMatchObject({ LIMITS: '-', STATE: 'enabled' })
  })
})

describe('duet keys show', () => {
  test('shows everything about a key but its secret', async () => {
    const { id, key } = await newKey('--cap', '5', '--models', 'openai/gpt-4.1')
    const { code, out } = await duet('keys', 'show', id)
    expect(code).toBe(0)
    for (const line of [/^cap +\$5\.00$/m, /^models +openai\/gpt-4\.1$/m, /^expires +never$/m, /^state +enabled$/m]) {
      expect(out).toMatch(line)
    }
    expect(out).not.toContain(key)
    expect(await json('keys', 'show', id)).toEqual(await keyOf(id))
    expect((await duet('keys', 'show', id, '--quiet')).out).toBe(`${id}\n`)
  })

  test('of a key that is not there ends with 4', async () => {
    expect(await duet('keys', 'show', 'key_none')).toEqual({
      code: 4,
      out: '',
      err: 'duet: key key_none does not exist\n',
    })
  })
})

describe('duet keys cap', () => {
  test('raises, lowers, sets and removes, and tells what remains', async () => {
    const { id, key } = await newKey('--cap', '5')
    const steps = [
      ['+10', '15.00'],
      ['-2', '13.00'],
      ['-0.000000001', '12.999999999'],
      ['50', '50.00'],
    ] as const
    for (const [change, cap] of steps) {
      const { code, out } = await duet('keys', 'cap', id, change)
      expect([code, out]).toEqual([0, `${id}: cap $${cap}, spent $0.00, remaining $${cap}\n`])
      expect((await keyOf(id)).cap).toBe(cap)
    }
    await duet('keys', 'cap', id, '0')
    expect(await call(key)).toBe(403)
    expect((await duet('keys', 'cap', id, 'none')).out).toBe(`${id}: no cap, spent $0.00\n`)
    expect(await call(key)).toBe(200)
    expect(await json('keys', 'cap', id, '7')).toEqual(await keyOf(id))
    expect(await duet('keys', 'cap', id, '8', '--quiet')).toEqual({ code: 0, out: '', err: '' })
    expect((await keyOf(id)).cap).toBe('8.00')
  })

  test('cannot count from a cap that is not there, nor go below zero', async () => {
    const { id } = await newKey()
    const none = await duet('keys', 'cap', id, '+10')
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('has no cap to count from')])
    await duet('keys', 'cap', id, '1')
    const below = await duet('keys', 'cap', id, '-2')
    expect([below.code, below.err]).toEqual([1, expect.stringContaining('cannot go below zero')])
    expect((await keyOf(id)).cap).toBe('1.00')
  })

  test('of something that is no amount ends with 2', async () => {
    for (const text of ['ten', '+-1', '1.0000000001', '+']) {
      const { code, err } = await duet('keys', 'cap', 'key_any', text)
      expect(code).toBe(2)
      expect(err).toContain(`not "${text}"`)
    }
  })
})

describe('duet keys limits', () => {
  test('sets, changes and removes how often a key may call, each limit by itself', async () => {
    const { id } = await newKey('--max-per-minute', '60')
    expect(await keyOf(id)).toMatchObject({ max_concurrent: null, max_per_minute: 60 })
    const steps = [
      [['--max-concurrent', '4'], 'requests at once 4, per minute 60'],
      [['--max-per-minute', '90', '--max-concurrent', 'none'], 'requests at once without limit, per minute 90'],
      [['--max-per-minute', 'none'], 'requests at once without limit, per minute without limit'],
    ] as const
    for (const [options, text] of steps) {
      expect(await duet('keys', 'limits', id, ...options)).toEqual({ code: 0, out: `${id}: ${text}\n`, err: '' })
    }
    expect(await json('keys', 'limits', id, '--max-concurrent', '2')).toEqual(await keyOf(id))
    const { out } = await duet('keys', 'show', id)
    for (const line of [/^at once +2$/m, /^per minute +no limit$/m]) expect(out).toMatch(line)
  })

  test('are told when a key is made with them', async () => {
    const { err } = await duet('keys', 'create', '--name', 'ci', '--max-concurrent', '4', '--max-per-minute', '60')
    expect(err).toMatch(/^key key_\w+ \(ci\) of account default: no cap, 4 at once, 60 a minute$/m)
  })

  test('that are no numbers, too large, or missing, end with 2 and say what they may be', async () => {
    for (const [option, max] of [
      ['--max-concurrent', 10_000],
      ['--max-per-minute', 1_000_000],
    ] as const) {
      for (const text of ['0', '-1', '1.5', 'many', `${max + 1}`, '99999999']) {
        const { code, err } = await duet('keys', 'limits', 'key_any', `${option}=${text}`)
        const message = `duet: ${option}: must be a whole number from 1 to ${max}, not "${text}"\n`
        expect([code, err]).toEqual([2, expect.stringContaining(message)])
      }
    }
    const { id } = await newKey()
    expect(await json('keys', 'limits', id, '--max-concurrent', '10000')).toMatchObject({ max_concurrent: 10_000 })
    const missing = await duet('keys', 'limits', 'key_any')
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('is missing')])
  })
})

describe('a key', () => {
  test('is disabled and enabled', async () => {
    const { id, key } = await newKey()
    expect((await duet('keys', 'disable', id)).out).toBe(`${id} (a key) is disabled\n`)
    expect(await call(key)).toBe(401)
    expect((await duet('keys', 'enable', id)).out).toBe(`${id} (a key) is enabled\n`)
    expect(await call(key)).toBe(200)
    expect(await json('keys', 'disable', id)).toEqual(await keyOf(id))
  })

  test('is revoked, once', async () => {
    const { id, key } = await newKey()
    expect(await duet('keys', 'revoke', id)).toEqual({ code: 0, out: `${id} is revoked\n`, err: '' })
    expect(await call(key)).toBe(401)
    expect((await duet('keys', 'revoke', id)).code).toBe(4)
    const other = await newKey()
    expect(await json('keys', 'revoke', other.id)).toEqual({ id: other.id, revoked: true })
  })
})
