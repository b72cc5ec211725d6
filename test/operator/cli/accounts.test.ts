import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../../support/duet.ts'
import { CHAT, post, user } from '../../support/http.ts'
import { commandsFor, type Ran, readTable } from './run.ts'

let server: Duet
let duet: (...args: string[]) => Promise<Ran>
let json: ReturnType<typeof commandsFor>['json']
beforeAll(async () => {
  server = await startDuet()
  ;({ duet, json } = commandsFor(server))
})
afterAll(() => server.stop())

const account = async (id: string) => (await server.admin('GET', `/api/accounts/${id}`)).body

let made = 0
async function newAccount(balance = '25'): Promise<string> {
  const name = `account-${++made}`
  expect((await duet('accounts', 'create', name, '--balance', balance)).code).toBe(0)
  return name
}

describe('duet accounts create', () => {
  test('makes an account with a group and a balance, and says so', async () => {
    const { code, out, err } = await duet('accounts', 'create', 'team-a', '--group', 'gold', '--balance', '25')
    const { id, ...rest } = await account('team-a')
    expect([code, err]).toEqual([0, ''])
    expect(out).toBe(`account team-a created: ${id}, balance $25.00\n`)
    expect(rest).toMatchObject({ group: 'gold', balance: '25.00' })
  })

  test('with --json prints what the API answered', async () => {
    const created = await json('accounts', 'create', 'team-b')
    expect(created).toEqual(await account('team-b'))
  })

  test('with --quiet prints nothing', async () => {
    expect(await duet('accounts', 'create', 'team-c', '--quiet')).toEqual({ code: 0, out: '', err: '' })
    expect((await account('team-c')).name).toBe('team-c')
  })

  test('takes arguments by their names, too', async () => {
    expect((await duet('accounts', 'create', '--name', 'team-d', '--balance', '1')).code).toBe(0)
    expect((await duet('accounts', 'topup', '--account', 'team-d', '--amount', '2')).code).toBe(0)
    expect((await duet('accounts', 'adjust', '--amount', '-0.5', 'team-d', '--note', 'a slip')).code).toBe(0)
    expect((await account('team-d')).balance).toBe('2.50')
    expect((await duet('accounts', 'topup', '--account', 'team-d')).err).toStartWith('duet: <amount> is missing')
    expect((await duet('accounts', 'show', '--account', 'team-d', 'more')).code).toBe(2)
  })

  test('with a name that is taken ends with 1 and one line', async () => {
    expect(await duet('accounts', 'create', 'default')).toEqual({
      code: 1,
      out: '',
      err: 'duet: an account named default exists already\n',
    })
  })
})

describe('duet accounts list', () => {
  test('is a table in which numbers end under each other', async () => {
    const name = await newAccount('7.5')
    const { code, out } = await duet('accounts', 'list')
    expect(code).toBe(0)
    const rows = readTable(out)
    expect(rows.find(row => row.NAME === name)).toMatchObject({ GROUP: 'default', BALANCE: '7.50', HELD: '0.00' })
    const lines = out.trimEnd().split('\n')
    const end = (lines[0]?.indexOf('BALANCE') ?? 0) + 'BALANCE'.length
    for (const line of lines.slice(1)) expect(line.slice(0, end)).toMatch(/\d+\.\d+$/)
    expect(out).not.toContain('\u001b')
  })

  test('with --quiet prints the ids, with --json the whole list', async () => {
    const { body } = await server.admin('GET', '/api/accounts?limit=500')
    const ids = body.data.map(({ id }: { id: string }) => id)
    expect((await duet('accounts', 'list', '--quiet')).out).toBe(`${ids.join('\n')}\n`)
    expect(await json('accounts', 'list')).toEqual(body)
  })

  test('stops at a limit and says that there are more', async () => {
    const { out, err } = await duet('accounts', 'list', '--limit', '2')
    expect(readTable(out)).toHaveLength(2)
    expect(err).toContain('there are more accounts')
    const page = await json('accounts', 'list', '--limit', '2')
    expect(page.data).toHaveLength(2)
    expect(page.next).toBeString()
  })

  test('does not let a name move the cursor', async () => {
    await server.admin('POST', '/api/accounts', { name: 'up\u001b[2Jand\u009baway' })
    const { out } = await duet('accounts', 'list')
    expect(out).toContain('up\uFFFD[2Jand\uFFFDaway')
  })
})

test('duet accounts list follows the pages to their end', async () => {
  const many = await startDuet()
  const names = Array.from({ length: 520 }, (_, place) => `account-${place}`)
  await Promise.all(names.map(name => many.admin('POST', '/api/accounts', { name })))
  const { data, next } = await commandsFor(many).json('accounts', 'list')
  expect(next).toBeNull()
  expect(new Set(data.map(({ name }: { name: string }) => name))).toEqual(new Set(['default', ...names]))
  expect(data).toHaveLength(521)
  await many.stop()
})

describe('duet accounts show', () => {
  test('takes an id or a name', async () => {
    const name = await newAccount()
    const { id } = await account(name)
    for (const word of [id, name]) {
      const { code, out } = await duet('accounts', 'show', word)
      expect(code).toBe(0)
      expect(out).toMatch(new RegExp(`^id +${id}$`, 'm'))
      expect(out).toMatch(/^balance +\$25\.00$/m)
    }
    expect(await json('accounts', 'show', name)).toEqual(await account(id))
    expect((await duet('accounts', 'show', name, '--quiet')).out).toBe(`${id}\n`)
  })

  test('finds names that an address would misread', async () => {
    for (const name of ['a/b', 'a b?c=d', '100%', 'ü#1']) {
      expect((await duet('accounts', 'create', name)).code).toBe(0)
      expect((await json('accounts', 'show', name)).name).toBe(name)
    }
  })

  test('of an account that is not there ends with 4', async () => {
    for (const name of ['nobody', '.', '..']) {
      const { code, out, err } = await duet('accounts', 'show', name)
      expect([code, out]).toEqual([4, ''])
      expect(err).toMatch(/^duet: .* does not exist\n$/)
    }
    const { code, err } = await duet('accounts', 'show', 'nobody', '--json')
    expect(code).toBe(4)
    expect(JSON.parse(err)).toEqual({ error: { code: 'not_found', message: 'account nobody does not exist' } })
  })
})

describe('duet accounts topup', () => {
  test('prints the number of the entry and the new balance', async () => {
    const name = await newAccount('25')
    expect(await duet('accounts', 'topup', name, '10', '--note', 'by card')).toEqual({
      code: 0,
      out: `entry 2: $10.00 for ${name}, balance $35.00\n`,
      err: '',
    })
    const { body } = await server.admin('GET', `/api/accounts/${name}/entries`)
    expect(body.data[0]).toMatchObject({ id: '2', kind: 'topup', amount: '10.00', note: 'by card' })
  })

  test('with the same source again says that it is applied already', async () => {
    const name = await newAccount('0')
    const again = () => duet('accounts', 'topup', name, '10', '--source', 'invoice-7')
    expect((await again()).out).toBe(`entry 1: $10.00 for ${name}, balance $10.00\n`)
    expect((await again()).out).toBe(`entry 1: $10.00 for ${name} (already applied), balance $10.00\n`)
    expect(await json('accounts', 'topup', name, '10', '--source', 'invoice-7')).toMatchObject({
      id: '1',
      source: 'invoice-7',
      account: { balance: '10.00' },
    })
  })

  test('of nothing, or of no number, ends with 1 in the words of the API', async () => {
    for (const amount of ['0', '-3', 'ten']) {
      const { code, err } = await duet('accounts', 'topup', 'default', amount)
      expect(code).toBe(1)
      expect(err).toMatch(/^duet: amount: .*\n$/)
    }
  })

  test('with --quiet prints nothing', async () => {
    const name = await newAccount()
    expect(await duet('accounts', 'topup', name, '1', '--quiet')).toEqual({ code: 0, out: '', err: '' })
  })
})

describe('duet accounts adjust', () => {
  test('goes down and up, wherever the amount stands', async () => {
    const name = await newAccount('25')
    expect((await duet('accounts', 'adjust', name, '-5', '--note', 'cancelled')).out).toBe(
      `entry 2: -$5.00 for ${name}, balance $20.00\n`,
    )
    expect((await duet('accounts', 'adjust', '--note', 'found', name, '+2.5')).out).toContain('balance $22.50')
    expect((await duet('accounts', 'adjust', name, '--note', 'cancelled', '--', '-0.5')).out).toContain('$22.00')
    const { body } = await server.admin('GET', `/api/accounts/${name}/entries`)
    expect(body.data[0]).toMatchObject({ kind: 'adjustment', amount: '-0.50', note: 'cancelled' })
  })

  test('wants to know why', async () => {
    const { code, err } = await duet('accounts', 'adjust', 'default', '-5')
    expect(code).toBe(2)
    expect(err).toStartWith('duet: --note <text> is missing\n')
    expect(err).toContain('Usage: duet accounts adjust <account> <amount> --note <text>')
  })
})

describe('duet accounts entries', () => {
  test('lists every change of the balance, newest first', async () => {
    const name = await newAccount('1')
    const { key } = await json('keys', 'create', '--name', 'k', '--account', name)
    await post(server, CHAT, { model: 'openai/gpt-4.1', messages: user('Hello') }, { key })
    await duet('accounts', 'adjust', name, '-0.5', '--note', 'a correction')
    const { code, out } = await duet('accounts', 'entries', name)
    expect(code).toBe(0)
    expect(readTable(out).map(({ ENTRY, KIND }) => [ENTRY, KIND])).toEqual([
      ['3', 'adjustment'],
      ['2', 'charge'],
      ['1', 'topup'],
    ])
    expect(out).toContain('a correction')
    const { body } = await server.admin('GET', `/api/accounts/${name}/entries`)
    expect(await json('accounts', 'entries', name)).toEqual({ data: body.data, next: null })
    expect((await duet('accounts', 'entries', name, '--quiet', '--limit', '2')).out).toBe('3\n2\n')
  })

  test('of an account without any says so, and prints nothing', async () => {
    const name = await newAccount('0')
    expect(await duet('accounts', 'entries', name)).toEqual({ code: 0, out: '', err: 'no entries\n' })
    expect(await json('accounts', 'entries', name)).toEqual({ data: [], next: null })
  })
})
