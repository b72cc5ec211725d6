import { afterEach, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { openStore } from '../../src/open-store.ts'
import { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { run } from '../operator/cli/run.ts'
import { newDatabase } from '../support/databases.ts'
import { failToStart, type JsonBody, newFolder, startDuet } from '../support/duet.ts'
import { eventually } from '../support/wire.ts'
import { Books, closeAfterEach, openAt, tablesAt } from './books.ts'
import { type Pooler, type Pooling, startPooler } from './pooler.ts'

closeAfterEach()

const poolers: Pooler[] = []
afterEach(() => {
  for (const pooler of poolers.splice(0)) pooler.close()
})

async function pooled(server: string, pooling: Pooling, room?: number): Promise<string> {
  const pooler = await startPooler(server, pooling, room)
  poolers.push(pooler)
  return pooler.url
}

const SECRET = 'secret-of-a-duet-behind-a-pooler'

const REFUSAL =
  'a pooler in front of the database hands its connections from one transaction to the next, and Duet needs its own: ' +
  'connect to PostgreSQL directly, or let the pooler pool sessions (PgBouncer: pool_mode = session)'

// ── sessions ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a Duet behind a pooler of sessions answers and charges', async () => {
  const database = await newDatabase()
  const url = await pooled(database, 'sessions')
  const duet = await startDuet({ env: { DUET_DATABASE_URL: url, DUET_SECRET: SECRET } })
  const answer = await fetch(`${duet.base}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${duet.key}` },
    body: JSON.stringify({ model: 'anthropic/claude-sonnet-4.6', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  expect(answer.status).toBe(200)
  await answer.text()
  const tables = tablesAt(database)
  const charged = await eventually(
    () => tables.all(`SELECT 1 AS one FROM entries WHERE kind = 'charge'`),
    rows => rows.length > 0,
  )
  expect(charged).toHaveLength(1)
  expect(await duet.stop()).toBe(0)
})

test('who listens through a pooler of sessions hears', async () => {
  const database = await newDatabase()
  const url = await pooled(database, 'sessions')
  const db = new PostgresDatabase({ url, connections: 1 })
  const heard = Promise.withResolvers<string>()
  const end = await db.listen('news', heard.resolve, () => {})
  await tablesAt(database).run(`NOTIFY news, 'something'`)
  expect(await heard.promise).toBe('something')
  end()
  await db.close()
})

test('a word of the address that a pooler does not let through is told at once, and not waited for', async () => {
  const url = await pooled(await newDatabase(), 'sessions')
  const config = {
    dataFolder: newFolder(),
    durability: 'process',
    databaseUrl: `${url}?options=-c%20jit%3Doff`,
  } as const
  const waited: number[] = []
  await expect(openStore(config, seconds => waited.push(seconds))).rejects.toThrow(
    'the database of DUET_DATABASE_URL says: unsupported startup parameter: options',
  )
  expect(waited).toEqual([])
})

test('who asks whether everything is well hears of a pooler that has no room for one more', async () => {
  const { url: database } = await Books.open({ accounts: ['ann'], keys: 1, balance: 1_000n })
  const connectionsAt = async (url: string) => {
    const env = { DUET_DATABASE_URL: url, DUET_SECRET: SECRET }
    const { out } = await run(['doctor', '--json'], { env })
    return JSON.parse(out).checks.find(({ name }: JsonBody) => name === 'connections')
  }
  const [narrow, wide] = [await pooled(database, 'sessions', 10), await pooled(database, 'sessions')]
  expect(await connectionsAt(narrow)).toEqual({
    ...{ name: 'connections', status: 'warning' },
    message: expect.stringContaining('(PgBouncer: default_pool_size, max_client_conn)'),
  })
  expect(await connectionsAt(wide)).toMatchObject({ status: 'ok' })
})

// ── settings ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`

test('no question is asked before the server knows its limits, however often the connection is lost', async () => {
  const url = await newDatabase()
  const db = new PostgresDatabase({ url, connections: 2, answerMsMax: 5_000, settings: { work_mem: '5MB' } })
  const knife = new SQL({ url, max: 1 })
  const seen: unknown[] = []
  for (let round = 0; round < 60; round++) {
    const asking = [0, 1].map(() =>
      db.get(`SELECT current_setting('work_mem') AS memory, current_setting('statement_timeout') AS limit`),
    )
    // While they are asked, and while nobody asks anything.
    const cutting = round % 2 === 0 ? knife.unsafe(CUT) : undefined
    for (const result of await Promise.allSettled(asking)) if (result.status === 'fulfilled') seen.push(result.value)
    await (cutting ?? knife.unsafe(CUT))
  }
  await Promise.all([db.close(), knife.close()])
  expect(seen.length).toBeGreaterThan(0)
  expect(seen).toEqual(seen.map(() => ({ memory: '5MB', limit: '4500ms' })))
})

test('nothing is prepared under a name, which could be that of a statement of somebody else', async () => {
  const db = new PostgresDatabase({ url: await newDatabase(), connections: 1 })
  for (const value of ['one', 'other']) await db.get('SELECT ? AS value', value)
  expect(await db.all('SELECT name FROM pg_prepared_statements')).toEqual([])
  await db.close()
})

// ── transactions ──────────────────────────────────────────────────────────────────────────────────────────────────────

test('a pooler of transactions is refused, and nothing was done behind it', async () => {
  const database = await newDatabase()
  await expect(openAt(await pooled(database, 'transactions'))).rejects.toThrow(new Error(REFUSAL))
  expect(await tablesAt(database).get(`SELECT to_regclass('schema_version') AS name`)).toEqual({ name: null })
})

test('a start, a check, a migration and a look at the books say so in one line', async () => {
  const { url: database } = await Books.open({ accounts: ['ann'], keys: 1, balance: 1_000n })
  const environment = async () => ({
    DUET_DATABASE_URL: await pooled(database, 'transactions'),
    DUET_SECRET: SECRET,
  })
  const start = await failToStart({ env: await environment() })
  expect(start).toEqual({ code: 1, output: `duet: cannot start: ${REFUSAL}\n` })
  for (const command of [['doctor'], ['migrate'], ['ledger', 'verify']]) {
    const { code, out, err } = await run(command, { cwd: newFolder(), env: await environment() })
    expect(code).not.toBe(0)
    expect(out + err).toContain(REFUSAL)
  }
})
