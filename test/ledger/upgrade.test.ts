import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { hashSecret } from '../../src/core/key.ts'
import { databasePath } from '../../src/open-store.ts'
import { EmbeddedDatabase } from '../../src/store/sqlite/database.ts'
import { MIGRATIONS } from '../../src/store/sqlite/migrations.ts'
import { STORE } from '../support/databases.ts'
import { type JsonBody, newFolder, startDuet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'

const SECRET = `sk-duet-${'u'.repeat(43)}`
const DAY = 86_400_000
const BEGAN = Date.UTC(2026, 9, 1)

interface Written {
  readonly account: string
  readonly kind: 'topup' | 'charge' | 'adjustment'
  readonly amount: number
}

/** In the order they were written, which is not the order of accounts. */
const ENTRIES: readonly Written[] = [
  { account: 'default', kind: 'topup', amount: 100_000_000_000 },
  { account: 'acc_b', kind: 'topup', amount: 5_000_000_000 },
  { account: 'default', kind: 'charge', amount: -1_250_000 },
  { account: 'acc_b', kind: 'charge', amount: -777 },
  { account: 'default', kind: 'charge', amount: -3 },
  { account: 'default', kind: 'adjustment', amount: -1_000_000 },
  { account: 'acc_b', kind: 'topup', amount: 1 },
  { account: 'default', kind: 'charge', amount: -40_000 },
]
const KEY_OF: Readonly<Record<string, string>> = { default: 'key_a', acc_b: 'key_b' }

const sumOf = (account: string, kind?: Written['kind']) =>
  ENTRIES.filter(entry => entry.account === account && (!kind || entry.kind === kind)).reduce(
    (sum, { amount }) => sum + amount,
    0,
  )

/** A file as the first version of Duet left it when it was killed with a call under way. */
function writeFirstVersion(path: string): void {
  const db = new Database(path, { create: true, strict: true })
  const [first] = MIGRATIONS
  if (typeof first !== 'string') throw new Error('the first version is plain SQL')
  db.run(first)
  db.run('PRAGMA user_version = 1')
  for (const [account, key] of Object.entries(KEY_OF)) {
    const held = account === 'default' ? 9_000 : 0
    db.query('INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?)').run(
      ...[account, account, 'default', sumOf(account), held, -sumOf(account, 'charge'), BEGAN],
    )
    db.query(
      `INSERT INTO keys (id, account_id, name, secret_hash, hint, cap, spent, held, created_at, last_used_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(
      ...[key, account, key, account === 'default' ? hashSecret(SECRET) : 'other', 'sk-duet-…', 50_000_000_000],
      ...[-sumOf(account, 'charge'), held, BEGAN, BEGAN + DAY],
    )
  }
  const balances: Record<string, number> = {}
  ENTRIES.forEach(({ account, kind, amount }, place) => {
    const balance = (balances[account] ?? 0) + amount
    balances[account] = balance
    const at = BEGAN + place * DAY
    const [source, key] = kind === 'charge' ? [`request${place}`, KEY_OF[account] ?? null] : [`source${place}`, null]
    db.query(
      `INSERT INTO entries (account_id, kind, amount, balance, source, key_id, note, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(account, kind, amount, balance, source, key, kind === 'topup' ? 'a note' : null, at)
    if (kind === 'charge') record(db, { id: source, account, status: 'ok', cost: -amount, at })
  })
  record(db, { id: 'failed', account: 'default', status: 'upstream_error', cost: 0, at: BEGAN + 2 * DAY })
  db.query('INSERT INTO holds VALUES (?, ?, ?, ?, ?)').run('underway', 'default', 'key_a', 9_000, BEGAN + 9 * DAY)
  db.close()
}

interface FirstRecord {
  readonly id: string
  readonly account: string
  readonly status: string
  readonly cost: number
  readonly at: number
}

function record(db: Database, { id, account, status, cost, at }: FirstRecord): void {
  const call = ['openai/gpt-4.1', 'sandbox-chat', 'chat', 'chat', 0, status]
  const tokens = [10, 0, 0, 20, 0, 'upstream']
  db.query(`INSERT INTO usage VALUES (${Array(20).fill('?').join(', ')})`).run(
    ...[id, account, KEY_OF[account] ?? '', ...call, ...tokens, cost, 9_000, at, 5, 100],
  )
}

const dollars = (nanos: number) => (nanos / 1e9).toFixed(9).replace(/0{1,7}$/, '')

describe.skipIf(STORE !== 'sqlite')('a file of the first version', () => {
  test('is opened with everything in it, verifies, and goes on', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'data'))
    const path = databasePath(join(folder, 'data'))
    writeFirstVersion(path)

    const duet = await startDuet({ folder })
    const get = async (what: string): Promise<JsonBody> => (await duet.admin('GET', `/api/${what}`)).body
    expect(duet.output()).not.toContain('sk-duet-')
    for (const account of ['default', 'acc_b']) {
      expect(await get(`accounts/${account}`)).toMatchObject({
        balance: dollars(sumOf(account)),
        held: '0.00',
        spent: dollars(-sumOf(account, 'charge')),
      })
      expect(await get(`keys/${KEY_OF[account]}`)).toMatchObject({
        cap: '50.00',
        spent: dollars(-sumOf(account, 'charge')),
        last_used_at: new Date(BEGAN + DAY).toISOString(),
      })
      const { data } = await get(`accounts/${account}/entries`)
      const written = ENTRIES.filter(entry => entry.account === account).toReversed()
      expect(data.map(({ kind, amount }: JsonBody) => [kind, amount])).toEqual(
        written.map(({ kind, amount }) => [kind, dollars(amount)]),
      )
      expect(data.map(({ id }: JsonBody) => Number(id))).toEqual(written.map((_, place) => written.length - place))
    }

    // Nobody wrote down what they were computed from.
    expect(await get('ledger/verify')).toMatchObject({
      ...{ ok: true, problem: null, entries: 8, charges: 4, unpriced: 4, usage: 6, open_holds: 0 },
    })
    const {
      data: [underWay, ...older],
    } = await get('usage')
    expect(underWay).toMatchObject({ request_id: 'underway', status: 'interrupted', cost: '0.00', key: 'key_a' })
    expect(older).toHaveLength(5)
    expect((await get('usage/underway')).receipt).toMatchObject({ hold: { amount: '0.000009' }, entry: null })
    expect(await get('usage/request2')).toMatchObject({
      ...{ cost: '0.00125', tokens: { input: 10, output: 20 } },
      receipt: { price: null, arithmetic: { lines: [], total: '0.00125' }, entry: { id: '2', amount: '-0.00125' } },
    })
    expect((await get('usage/summary?by=status')).data).toMatchObject([
      { status: 'ok', requests: 4, cost: dollars(1_250_000 + 777 + 3 + 40_000) },
      { requests: 1, cost: '0.00' },
      { requests: 1, cost: '0.00' },
    ])

    const answer = await post(duet, CHAT, { model: 'openai/gpt-4.1', messages: user('Hello') }, { key: SECRET })
    expect(answer.status).toBe(200)
    expect(await get('ledger/verify')).toMatchObject({ ok: true, entries: 9, charges: 5, unpriced: 4, usage: 7 })
    const again = await get('accounts/default/entries?limit=1')
    expect(again.data[0]).toMatchObject({ id: '6', kind: 'charge', amount: `-${answer.headers.get('x-duet-cost')}` })

    const repeated = await duet.admin('POST', '/api/accounts/acc_b/topups', { amount: '5', source: 'source1' })
    expect([repeated.status, repeated.body.account.balance]).toEqual([200, dollars(sumOf('acc_b'))])
    await duet.stop()
  })

  test('is upgraded as a whole or not at all', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'data'))
    const path = databasePath(join(folder, 'data'))
    writeFirstVersion(path)
    const before = new Database(path)
    // The upgrade makes a table of this name, near its end.
    before.run('CREATE TABLE usage_hours (hour INTEGER)')
    before.close()
    const failure = await startDuet({ folder }).catch((error: Error) => error.message)
    expect(failure).toContain('table usage_hours already exists')
    const after = new Database(path)
    expect(after.query('PRAGMA user_version').get()).toEqual({ user_version: 1 })
    expect(after.query('SELECT count(*) AS n, sum(amount) AS held FROM holds').get()).toEqual({ n: 1, held: 9_000 })
    expect(after.query('SELECT count(*) AS n FROM entries').get()).toEqual({ n: ENTRIES.length })
    after.close()
  })

  test('a file of a version to come is left alone', () => {
    const path = join(newFolder(), 'duet.db')
    const future = new Database(path, { create: true })
    future.run(`PRAGMA user_version = ${MIGRATIONS.length + 1}`)
    future.close()
    expect(() => new EmbeddedDatabase({ path, durability: 'process' })).toThrow('newer version of Duet')
  })
})
