import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newDatabase } from '../../support/databases.ts'
import { type Duet, newFolder, startDuet } from '../../support/duet.ts'
import { CHAT, post, user } from '../../support/http.ts'
import { commandsFor, EMBEDDED, freePort, run, runOnTerminal, toward } from './run.ts'
import { lookInto } from './tables.ts'

const call = (server: Duet) => post(server, CHAT, { model: 'openai/gpt-4.1', messages: user('Hello') })

/** The data folder of a server that was used and stopped, copied for each test that changes it. */
let stopped: string
beforeAll(async () => {
  const server = await startDuet({ env: EMBEDDED })
  for (let calls = 0; calls < 3; calls++) expect((await call(server)).status).toBe(200)
  await server.admin('POST', '/api/accounts/default/topups', { amount: '10', note: 'a note' })
  expect(await server.stop()).toBe(0)
  stopped = join(server.folder, 'data')
})

function copyOfStopped(): string {
  const folder = newFolder()
  cpSync(stopped, folder, { recursive: true })
  return folder
}

function tampered(sql: string): string {
  const folder = copyOfStopped()
  const db = new Database(join(folder, 'duet.db'))
  expect(db.run(sql).changes).toBe(1)
  db.close()
  return folder
}

const EVERYTHING =
  /^accounts +1\nentries +5\ncharges +3\nusage records +3\nopen holds +0\nsum of balances +\$109\.\d+\neverything adds up\n$/

describe('duet ledger verify, while a server runs', () => {
  let server: Duet
  beforeAll(async () => {
    server = await startDuet({ env: EMBEDDED })
    await call(server)
  })
  afterAll(() => server.stop())

  test('says what was checked, and that it adds up', async () => {
    const { code, out, err } = await run(['ledger', 'verify'], { env: toward(server) })
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^accounts +1\nentries +2\ncharges +1\n/)
    expect(out).toEndWith('everything adds up\n')
  })

  test('with --json prints the result of the API, with --quiet nothing', async () => {
    const { body } = await server.admin('GET', '/api/ledger/verify')
    expect(body.ok).toBe(true)
    expect(await commandsFor(server).json('ledger', 'verify')).toEqual(body)
    expect(await commandsFor(server).duet('ledger', 'verify', '--quiet')).toEqual({ code: 0, out: '', err: '' })
  })

  test('does not touch its database, with --data or because it looks in the wrong place', async () => {
    const data = join(server.folder, 'data')
    const direct = await run(['ledger', 'verify', '--data', data], { env: toward(server) })
    expect([direct.code, direct.out]).toEqual([1, ''])
    expect(direct.err).toBe(
      `duet: another Duet is using ${join(data, 'duet.db')}; stop it, or choose another folder with DUET_DATA\n`,
    )
    const lost = await run(['ledger', 'verify'], { env: { DUET_DATA: data, DUET_PORT: freePort() } })
    expect(lost.code).toBe(1)
    expect(lost.err).toContain('another Duet is using')
  })

  test('shows how far it is to somebody at a terminal, and leaves no trace of it', async () => {
    const folder = copyOfStopped()
    const { code, seen } = await runOnTerminal(['ledger', 'verify', '--data', folder])
    expect(code).toBe(0)
    expect(seen).toContain('\rchecked ')
    expect(seen).toContain(' of 8 rows\u001b[K')
    expect(seen).toContain('\r\u001b[Kaccounts')
  })
})

describe('duet ledger verify, while no server runs', () => {
  test('opens the database in the folder it is given', async () => {
    const { code, out, err } = await run(['ledger', 'verify', '--data', copyOfStopped()])
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(EVERYTHING)
  })

  test('opens the database of this place, and says so', async () => {
    const data = copyOfStopped()
    const port = freePort()
    const { code, out, err } = await run(['ledger', 'verify'], { env: { DUET_DATA: data, DUET_PORT: port } })
    expect([code, err]).toEqual([
      0,
      `no Duet answers at http://127.0.0.1:${port}; opening ${join(data, 'duet.db')} instead\n`,
    ])
    expect(out).toMatch(EVERYTHING)
  })

  test('opens ./data if nothing says otherwise', async () => {
    const cwd = newFolder()
    cpSync(stopped, join(cwd, 'data'), { recursive: true })
    const { code, out } = await run(['ledger', 'verify'], { cwd, env: { DUET_PORT: freePort() } })
    expect(code).toBe(0)
    expect(out).toMatch(EVERYTHING)
  })

  test('does not open it if another place was named', async () => {
    const port = freePort()
    const env = { DUET_DATA: copyOfStopped(), DUET_URL: `http://127.0.0.1:${port}` }
    const { code, out, err } = await run(['ledger', 'verify'], { env })
    expect([code, out]).toEqual([1, ''])
    expect(err).toStartWith(`duet: no Duet answers at http://127.0.0.1:${port} `)
  })

  test('makes no database where there is none', async () => {
    const folder = newFolder()
    const { code, err } = await run(['ledger', 'verify', '--data', folder])
    expect([code, err]).toEqual([4, `duet: there is no database at ${join(folder, 'duet.db')}\n`])
    expect(await Bun.file(join(folder, 'duet.db')).exists()).toBe(false)
    const unreachable = await run(['ledger', 'verify'], { env: { DUET_DATA: folder, DUET_PORT: freePort() } })
    expect(unreachable.err).toStartWith('duet: no Duet answers at')
  })

  test('says so if the file is no database', async () => {
    const folder = newFolder()
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'duet.db'), 'not a database '.repeat(1000))
    const { code, out, err } = await run(['ledger', 'verify', '--data', folder])
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^duet: cannot open .*duet\.db: .*not a database\n$/)
  })
})

describe('duet ledger verify, after somebody changed', () => {
  const CHANGES: [what: string, sql: string, row: string, problem: string][] = [
    [
      'the amount of a charge',
      "UPDATE entries SET amount = amount + 1 WHERE account_id = 'default' AND seq = 3",
      'entries default/3',
      'tokens and price do not make this amount',
    ],
    ['a note', "UPDATE entries SET note = 'mine' WHERE seq = 5", 'entries default/5', 'the hash does not fit'],
    ['a balance', 'UPDATE accounts SET balance = balance + 1000000000', 'accounts default', 'the balance is not'],
    ['what a key spent', 'UPDATE keys SET spent = 0', 'keys key_', 'the amount spent is not'],
    ['the end of the entries', 'DELETE FROM entries WHERE seq = 5', 'accounts default', 'rows are missing at the end'],
    ['the cost of a request', 'UPDATE usage SET cost = 0 WHERE id = 2', 'usage ', 'do not make this cost'],
  ]
  for (const [what, sql, row, problem] of CHANGES) {
    test(`${what}, names the row and ends with 3`, async () => {
      const { code, out, err } = await run(['ledger', 'verify', '--data', tampered(sql)])
      expect(code).toBe(3)
      expect(out).toMatch(new RegExp(`^${row}.*: .*${problem}`, 'm'))
      expect(out).toMatch(/^ {2}expected +\S+.*\n {2}found +\S+/m)
      expect(out).not.toContain('everything adds up')
      expect(err).toMatch(new RegExp(`^duet: the ledger does not add up: ${row}.*\n$`))
    })
  }

  test('tells what it expected and what it found, to scripts too', async () => {
    const folder = tampered("UPDATE accounts SET balance = 1000000000 WHERE id = 'default'")
    const { code, out, err } = await run(['ledger', 'verify', '--json', '--data', folder])
    expect(code).toBe(3)
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      problem: { table: 'accounts', row: 'default', expected: expect.stringMatching(/^109\.\d+$/), found: '1.00' },
    })
    expect(JSON.parse(err).error.code).toBe('unhealthy')
    const quiet = await run(['ledger', 'verify', '--quiet', '--data', folder])
    expect([quiet.code, quiet.out]).toEqual([3, ''])
  })

  test('is found by a running server as well', async () => {
    const folder = newFolder()
    const data = tampered('UPDATE entries SET amount = amount + 1 WHERE seq = 3')
    cpSync(data, join(folder, 'data'), { recursive: true })
    const server = await startDuet({ folder, env: EMBEDDED })
    const { code, out } = await run(['ledger', 'verify'], { env: toward(server) })
    expect(code).toBe(3)
    expect(out).toContain('entries default/3: ')
    await server.stop()
  })
})

describe('duet ledger verify, with PostgreSQL', () => {
  let url: string
  let env: Record<string, string>
  beforeAll(async () => {
    url = await newDatabase()
    env = { DUET_DATABASE_URL: url, DUET_PORT: freePort() }
    const server = await startDuet({ env: { DUET_DATABASE_URL: url, DUET_SECRET: 'the-secret-of-these-replicas' } })
    for (let calls = 0; calls < 3; calls++) expect((await call(server)).status).toBe(200)
    await server.admin('POST', '/api/accounts/default/topups', { amount: '10', note: 'a note' })
    const { out, err } = await run(['ledger', 'verify'], { env: toward(server) })
    expect([out, err]).toEqual([expect.stringMatching(EVERYTHING), ''])
    expect(await server.stop()).toBe(0)
  })

  test('asks the database if no server runs, and says so', async () => {
    const { code, out, err } = await run(['ledger', 'verify'], { env })
    expect([code, out]).toEqual([0, expect.stringMatching(EVERYTHING)])
    expect(err).toMatch(/^no Duet answers at http:\S+; asking the database 127\.0\.0\.1:\d+\/\w+ instead\n$/)
  })

  test('does not pass by a server that was named, nor make tables where there are none', async () => {
    const named = await run(['ledger', 'verify'], { env: { ...env, DUET_URL: `http://127.0.0.1:${freePort()}` } })
    expect([named.code, named.out]).toEqual([1, ''])
    const empty = await run(['ledger', 'verify'], { env: { ...env, DUET_DATABASE_URL: await newDatabase() } })
    expect([empty.code, empty.out]).toEqual([1, ''])
    expect(empty.err).toContain('run "duet migrate"')
  })

  test('names the row that somebody changed, and ends with 3', async () => {
    const sql = lookInto(url)
    await sql.unsafe(`UPDATE entries SET note = 'mine' WHERE account_id = 'default' AND seq = 5`)
    const { code, out, err } = await run(['ledger', 'verify'], { env })
    expect([code, err]).toEqual([3, expect.stringContaining('duet: the ledger does not add up: entries default/5: ')])
    expect(out).toContain('the hash does not fit')
    await sql.close()
  })
})
