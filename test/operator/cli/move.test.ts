import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DERIVED_TABLES, EMPTIED_TABLES, MOVED_TABLES } from '../../../src/move/tables.ts'
import { newDatabase } from '../../support/databases.ts'
import { type Duet, type JsonBody, newFolder, startDuet } from '../../support/duet.ts'
import { type Answer, CHAT, MESSAGES, post, user } from '../../support/http.ts'
import { acceptLink, inviteMember, OPERATOR, type Person, signIn, signInAsOperator } from '../../support/people.ts'
import { DATABASE_PASSWORD } from '../../support/postgres.ts'
import { scriptUpstream } from '../../support/upstream.ts'
import { vendorAnswer } from '../../support/vendor.ts'
import { type Caller, eventually, newCaller } from '../../support/wire.ts'
import { addAcme, FIRST_KEY, MODEL } from '../catalog/stage.ts'
import { DUET, EMBEDDED, freePort, readTable, run, runOnTerminal } from './run.ts'
import { lookInto, placeIn } from './tables.ts'

const HANGING = 'do not answer'
const upstream = scriptUpstream(visit =>
  JSON.stringify(visit.body).includes(HANGING) ? leftAlone(visit.signal) : vendorAnswer(visit),
)
const leftAlone = (signal: AbortSignal): Promise<Response> =>
  new Promise(resolve => signal.addEventListener('abort', () => resolve(new Response())))
afterAll(() => upstream.stop())

const moveTo = (url: string, folder: string, ...more: string[]) =>
  run(['move', '--from', folder, ...more], { env: { DUET_DATABASE_URL: url } })

async function rowsIn(url: string, table: string): Promise<number> {
  const sql = lookInto(url)
  const [row] = await sql.unsafe(`SELECT count(*) AS n FROM ${table}`)
  await sql.close()
  return Number(row.n)
}

/** Everything that the API tells about what is stored. */
async function storyOf(server: Duet): Promise<Record<string, JsonBody>> {
  const lists = [
    'accounts',
    'keys',
    'users',
    'codes',
    'invites',
    'models',
    'usage',
    'usage/summary?by=day,account,model',
  ]
  const paths = [...lists, 'accounts/default/entries', 'accounts/default/notice', 'ledger/verify']
  const story: Record<string, JsonBody> = {}
  for (const path of paths) story[path] = (await server.admin('GET', `/api/${path}`)).body
  for (const { request_id } of story.usage.data) {
    story[request_id] = (await server.admin('GET', `/api/usage/${request_id}`)).body
  }
  const { body } = await server.admin('GET', '/api/channels')
  story.channels = body.data.map(({ name, settings, paused, keys }: JsonBody) => ({
    ...{ name, settings, paused, keys: keys.map(({ id, hint, paused }: JsonBody) => ({ id, hint, paused })) },
  }))
  return story
}

interface Past {
  readonly data: string
  readonly secret: string
  readonly story: Record<string, JsonBody>
  readonly caller: Caller
  readonly operator: Person
  readonly named: Answer
  readonly codes: { readonly used: string; readonly unused: string }
  readonly invitation: string
}

const NAMED = { headers: { 'idempotency-key': 'the-same-call' } }
const hello = { model: MODEL, messages: user('Hello') }

/** A Duet that people and programs have used, and that was stopped. */
async function makePast(): Promise<Past> {
  const server = await startDuet({ env: EMBEDDED })
  await addAcme(server, upstream.base)
  const operator = await signInAsOperator(server)
  const caller = await newCaller(server, { balance: '20', cap: '5' })
  await server.admin('PATCH', `/api/keys/${caller.keyId}`, { keep_days: 7 })
  const calls = await Promise.all([
    post(server, CHAT, hello, { key: caller.key }),
    post(server, CHAT, { ...hello, stream: true }),
    post(server, MESSAGES, { ...hello, max_tokens: 50 }),
    post(server, CHAT, { ...hello, model: 'no/such-model' }),
  ])
  expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, expect.any(Number)])
  const named = await post(server, CHAT, hello, NAMED)
  await server.admin('POST', '/api/accounts/default/topups', { amount: '10', source: 'invoice-7', note: 'tab\there' })
  await server.admin('POST', '/api/accounts/default/adjustments', { amount: '-1', note: 'back\\slash\nand “line”' })
  const made = await server.admin('POST', '/api/codes', { amount: '3', count: 2 })
  const [used = '', unused = ''] = made.body.data.map(({ code }: JsonBody) => code)
  const member = await inviteMember(server, 'mia')
  expect((await member.call('POST', '/api/codes/redeem', { code: used })).status).toBe(201)
  const { body: invitation } = await server.admin('POST', '/api/invites', { role: 'member' })
  await server.admin('PUT', '/api/accounts/default/notice', { threshold: '5', url: `${upstream.base}/hook` })
  await server.admin('PUT', '/api/channels/acme/paused', { paused: true })
  const isKept = (story: JsonBody) => story.usage.data.some(({ request_id }: JsonBody) => story[request_id].capture)
  const story = await eventually(
    () => storyOf(server),
    story => story.usage.data.length === 5 && isKept(story),
  )
  expect([story.usage.data.length, isKept(story)]).toEqual([5, true])
  expect(await server.stop()).toBe(0)
  const data = join(server.folder, 'data')
  const secret = readFileSync(join(data, 'secret'), 'utf8').trim()
  return { data, secret, story, caller, operator, named, codes: { used, unused }, invitation: invitation.link }
}

let past: Past
beforeAll(async () => {
  past = await makePast()
}, 30_000)

function copyOfPast(): string {
  const folder = newFolder()
  cpSync(past.data, folder, { recursive: true })
  return folder
}

describe('duet move', () => {
  let url: string
  let folder: string
  beforeAll(async () => {
    url = await newDatabase()
    folder = copyOfPast()
  })

  test('says first how much there is, and touches nothing', async () => {
    const { code, out, err } = await moveTo(url, folder, '--dry-run')
    expect([code, err]).toEqual([0, ''])
    expect(readTable(out)).toContainEqual({ TABLE: 'usage', ROWS: '5' })
    expect(out).toMatch(new RegExp(`^\\d+ rows would be moved to ${placeIn(url)}$`, 'm'))
    const sql = lookInto(url)
    expect(await sql.unsafe(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).toHaveLength(0)
    await sql.close()
    expect(existsSync(join(folder, 'moved'))).toBe(false)
  })

  test('moves everything, checks it on both sides, and says what to set', async () => {
    const { code, out, err } = await moveTo(url, folder)
    expect([code, err]).toEqual([0, ''])
    expect(readTable(out)).toContainEqual({ TABLE: 'usage', ROWS: '5' })
    expect(out).toContain(`from ${folder} to ${placeIn(url)}\n`)
    expect(out).toContain('\neverything adds up, and is the same on both sides\n')
    expect(out).toContain(`DUET_SECRET=$(cat ${folder}/secret)`)
    for (const secret of [past.secret, DATABASE_PASSWORD]) expect(out + err).not.toContain(secret)
    expect(existsSync(join(folder, 'moved'))).toBe(true)
  })

  test('a Duet on PostgreSQL tells the same story, and goes on with it', async () => {
    const server = await startDuet({ env: { DUET_DATABASE_URL: url, DUET_SECRET: past.secret } })
    expect(await storyOf(server)).toEqual(past.story)

    await server.admin('PUT', '/api/channels/acme/paused', { paused: false })
    const visits = upstream.requests.length
    const again = await post(server, CHAT, hello, NAMED)
    expect(again.text).toBe(past.named.text)
    expect(upstream.requests).toHaveLength(visits)

    const answer = await post(server, CHAT, hello, { key: past.caller.key })
    expect(answer.status).toBe(200)
    expect(upstream.requests.at(-1)?.headers.get('authorization')).toBe(`Bearer ${FIRST_KEY}`)

    const headers = { cookie: past.operator.cookie, 'x-duet-console': '1' }
    expect((await fetch(`${server.url}/api/session`, { headers })).status).toBe(200)
    expect((await signIn(server, OPERATOR)).name).toBe(OPERATOR.name)
    const somebody = await acceptLink(server, past.invitation, { name: 'ada', password: 'a password of ada' })
    const redeem = (code: string) => somebody.call('POST', '/api/codes/redeem', { code })
    expect((await redeem(past.codes.used)).status).toBeGreaterThanOrEqual(400)
    expect((await redeem(past.codes.unused)).status).toBe(201)

    const invoice = { amount: '10', source: 'invoice-7', note: 'tab\there' }
    expect((await server.admin('POST', '/api/accounts/default/topups', invoice)).status).toBe(200)
    const { body } = await server.admin('GET', '/api/ledger/verify')
    expect(body).toMatchObject({ ok: true, usage: 6, problem: null })
    await server.stop()
  })

  test('the folder is not started any more, until somebody takes the mark away', async () => {
    const env = { DUET_DATA: folder, DUET_PORT: freePort() }
    const { code, err } = await run(['start'], { env })
    expect(code).toBe(1)
    expect(err).toMatch(
      new RegExp(`^duet: cannot start: ${folder} was moved to ${placeIn(url)} at 20.*remove ${folder}/moved\n$`),
    )
    expect((await run(['doctor'], { env })).out).toMatch(/^✗ database +.* was moved to /m)
    expect((await run(['ledger', 'verify', '--data', folder])).code).toBe(0)

    const second = await moveTo(await newDatabase(), folder)
    expect([second.code, second.out]).toEqual([1, ''])
    expect(second.err).toContain(`was moved to ${placeIn(url)}`)

    const home = newFolder()
    cpSync(folder, join(home, 'data'), { recursive: true })
    rmSync(join(home, 'data', 'moved'))
    const server = await startDuet({ folder: home, env: EMBEDDED })
    expect((await server.admin('GET', '/api/ledger/verify')).body).toEqual(past.story['ledger/verify'])
    await server.stop()
  })

  test('tells scripts what people are told', async () => {
    const target = await newDatabase()
    const from = copyOfPast()
    const { code, out, err } = await moveTo(target, from, '--json')
    expect([code, err]).toEqual([0, ''])
    const moved = JSON.parse(out)
    expect(moved).toMatchObject({ from, to: placeIn(target), interrupted: 0, ledger: past.story['ledger/verify'] })
    expect(moved.tables.map(({ table }: JsonBody) => table)).toEqual([...MOVED_TABLES])
    for (const { table, rows } of moved.tables) expect([table, await rowsIn(target, table)]).toEqual([table, rows])
    expect(out).not.toContain(past.secret)
  })

  test('shows how far it is to somebody at a terminal', async () => {
    const env = { DUET_DATABASE_URL: await newDatabase() }
    const { code, seen } = await runOnTerminal(['move', '--from', copyOfPast()], { env })
    expect(code).toBe(0)
    for (const step of ['checked the source:', 'moved', 'checked the target:']) {
      expect(seen).toMatch(new RegExp(`\\r${step} \\d+ of \\d+ rows`))
    }
  })
})

test('a move carries every table over that the embedded database has', () => {
  const db = new Database(join(past.data, 'duet.db'), { readonly: true })
  const tables = db
    .query<{ name: string }, []>(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
    .all()
  db.close()
  expect(tables.map(({ name }) => name)).toEqual([...MOVED_TABLES, ...EMPTIED_TABLES, ...DERIVED_TABLES].sort())
})

describe('calls that were under way when the source was killed', () => {
  test('are recorded as interrupted, and hold nothing any more', async () => {
    const server = await startDuet({ env: EMBEDDED })
    await addAcme(server, upstream.base)
    const visits = upstream.requests.length
    post(server, CHAT, { model: MODEL, messages: user(HANGING) }).catch(() => {})
    await eventually(
      () => upstream.requests.length,
      seen => seen > visits,
    )
    await server.stop('SIGKILL')
    const data = join(server.folder, 'data')
    const url = await newDatabase()
    const tried = JSON.parse((await moveTo(url, data, '--dry-run', '--json')).out)
    expect(tried.open_holds).toBe(1)
    expect(JSON.parse((await moveTo(url, data, '--json')).out)).toMatchObject({
      ...{ interrupted: 1, ledger: { ok: true, usage: 1, open_holds: 0 } },
    })
    const secret = readFileSync(join(data, 'secret'), 'utf8').trim()
    const after = await startDuet({ env: { DUET_DATABASE_URL: url, DUET_SECRET: secret } })
    expect((await after.admin('GET', '/api/usage')).body.data).toMatchObject([{ status: 'interrupted', cost: '0.00' }])
    expect((await after.admin('GET', '/api/accounts/default')).body).toMatchObject({ held: '0.00', balance: '100.00' })
    await after.stop()
  })
})

describe('what is in the way of a move', () => {
  const nothingMoved = async (url: string, folder: string) => {
    expect(await rowsIn(url, 'accounts')).toBe(0)
    expect(existsSync(join(folder, 'moved'))).toBe(false)
  }

  test('a Duet that uses the folder', async () => {
    const server = await startDuet({ env: EMBEDDED })
    const { code, out, err } = await moveTo(await newDatabase(), join(server.folder, 'data'))
    expect([code, out]).toEqual([1, ''])
    expect(err).toBe(`duet: a Duet is using ${join(server.folder, 'data', 'duet.db')}; stop it before it is moved\n`)
    await server.stop()
  })

  test('a target that a Duet has been started on', async () => {
    const url = await newDatabase()
    const server = await startDuet({ env: { DUET_DATABASE_URL: url, DUET_SECRET: past.secret } })
    await server.stop()
    const folder = copyOfPast()
    for (const more of [[], ['--dry-run']]) {
      const { code, out, err } = await moveTo(url, folder, ...more)
      expect([code, out]).toEqual([1, ''])
      expect(err).toStartWith(`duet: ${placeIn(url)} is not empty, there are rows in accounts, keys, `)
    }
    expect(await rowsIn(url, 'accounts')).toBe(1)
    expect(existsSync(join(folder, 'moved'))).toBe(false)
  })

  test('no target, no source, a target that does not answer', async () => {
    const missing = await run(['move', '--from', past.data])
    expect(missing.code).toBe(2)
    expect(missing.err).toStartWith('duet: where to? DUET_DATABASE_URL is not set, and --to is missing\n')
    const folder = newFolder()
    const empty = await moveTo('postgres://x@127.0.0.1/y', folder)
    expect([empty.code, empty.err]).toEqual([4, `duet: there is no database at ${join(folder, 'duet.db')}\n`])
    const address = `postgres://duet:${DATABASE_PASSWORD}@127.0.0.1:${freePort()}/duet`
    const away = await run(['move', '--from', copyOfPast(), '--to', address])
    expect([away.code, away.out]).toEqual([1, ''])
    const [warning, problem = ''] = away.err.split(/(?<=\n)/)
    expect(warning).toStartWith('others on this machine can see the password in --to')
    expect(problem).toMatch(/^duet: the database 127\.0\.0\.1:\d+\/duet does not answer \(.+\)\n$/)
    expect(away.err).not.toContain(DATABASE_PASSWORD)
  })

  test('a secret that does not open what was sealed, or none at all', async () => {
    const url = await newDatabase()
    const folder = copyOfPast()
    const wrong = 'not-the-secret-that-it-ran-with'
    const other = await run(['move', '--from', folder], { env: { DUET_DATABASE_URL: url, DUET_SECRET: wrong } })
    expect([other.code, other.out]).toEqual([1, ''])
    expect(other.err).toStartWith(
      `duet: DUET_SECRET does not open what is sealed in ${folder}; the one that does is in `,
    )
    writeFileSync(join(folder, 'secret'), `${wrong}\n`)
    expect((await moveTo(url, folder)).err).toStartWith(`duet: ${folder}/secret does not open what is sealed in `)
    rmSync(join(folder, 'secret'))
    expect((await moveTo(url, folder)).err).toBe(
      `duet: there is no ${folder}/secret; set DUET_SECRET to what this Duet ran with\n`,
    )
    const right = await run(['move', '--from', folder], { env: { DUET_DATABASE_URL: url, DUET_SECRET: past.secret } })
    expect(right.code).toBe(0)
    expect(right.out).toMatch(/^ {2}DUET_SECRET +the same as here$/m)
  })

  test('books that do not add up', async () => {
    const url = await newDatabase()
    const folder = copyOfPast()
    const db = new Database(join(folder, 'duet.db'))
    db.run(`UPDATE entries SET amount = amount + 1 WHERE account_id = 'default' AND seq = 2`)
    db.close()
    const { code, out, err } = await moveTo(url, folder)
    expect([code, out]).toEqual([3, ''])
    expect(err).toStartWith(`duet: the ledger of ${folder} does not add up, and was not moved: entries default/2: `)
    await nothingMoved(url, folder)
  })
})

describe('a move that is ended in the middle', () => {
  /** A target in which a move comes to a halt when most of it is done, until `go` is called. */
  async function haltingTarget() {
    const url = await newDatabase()
    await run(['migrate'], { env: { DUET_DATABASE_URL: url } })
    const sql = lookInto(url)
    const held = await sql.reserve()
    await held.unsafe('SELECT pg_advisory_lock(42)')
    await sql
      .unsafe(`
      CREATE FUNCTION halt() RETURNS TRIGGER LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END';
      CREATE TRIGGER halt BEFORE INSERT ON channels FOR EACH STATEMENT EXECUTE FUNCTION halt()`)
      .simple()
    const movers = () =>
      sql.unsafe(`SELECT pid, wait_event FROM pg_stat_activity
                  WHERE application_name = 'duet move' AND datname = current_database()`)
    return {
      url,
      sql,
      movers,
      halted: () => eventually(movers, rows => rows[0]?.wait_event === 'advisory', 20_000),
      async go() {
        await held.unsafe('SELECT pg_advisory_unlock(42)')
        held.release()
      },
      /** Until nobody has anything open there that was begun by a move. */
      over: () => eventually(movers, rows => rows.length === 0, 20_000),
    }
  }

  test('with kill -9 leaves the target empty, and can be done again', async () => {
    const target = await haltingTarget()
    const folder = copyOfPast()
    const env = { PATH: process.env.PATH ?? '', HOME: folder, DUET_DATABASE_URL: target.url }
    const child = Bun.spawn([DUET, 'move', '--from', folder], { env, stdout: 'ignore', stderr: 'ignore' })
    expect(await target.halted()).toHaveLength(1)
    child.kill('SIGKILL')
    await child.exited
    await target.go()
    expect(await target.over()).toHaveLength(0)
    expect(await rowsIn(target.url, 'usage')).toBe(0)
    expect(existsSync(join(folder, 'moved'))).toBe(false)

    await target.sql.unsafe('DROP TRIGGER halt ON channels')
    const again = await moveTo(target.url, folder)
    expect([again.code, again.err]).toEqual([0, ''])
    expect(await rowsIn(target.url, 'usage')).toBe(5)
    await target.sql.close()
  }, 60_000)

  test('by the database leaves the target empty, and says so in one line', async () => {
    const target = await haltingTarget()
    const folder = copyOfPast()
    const moving = moveTo(target.url, folder)
    const [mover] = await target.halted()
    await target.sql.unsafe(`SELECT pg_terminate_backend(${mover.pid})`)
    const { code, out, err } = await moving
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^duet: the database .* does not answer \(.*\)\n$/)
    expect(await rowsIn(target.url, 'usage')).toBe(0)
    expect(existsSync(join(folder, 'moved'))).toBe(false)
    await target.go()
    await target.sql.close()
  }, 60_000)

  test('at its last moment, after the folder was marked, is known to have never happened', async () => {
    const url = await newDatabase()
    const folder = copyOfPast()
    writeFileSync(join(folder, 'moved'), `${placeIn(url)}\n2026-01-01T00:00:00.000Z\n`)
    expect((await moveTo(url, folder)).code).toBe(0)
    expect((await moveTo(url, folder)).err).toContain(`was moved to ${placeIn(url)} at `)
    expect(await rowsIn(url, 'usage')).toBe(5)
  })
})
