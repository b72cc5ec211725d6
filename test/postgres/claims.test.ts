import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { SQL, type TransactionSQL } from 'bun'
import type { NewClaim } from '../../src/core/claims.ts'
import { PostgresClaims } from '../../src/store/postgres/claims.ts'
import type { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { newDatabase } from '../support/databases.ts'
import { eventually } from '../support/wire.ts'
import { closeAfterEach, tablesAt } from './books.ts'

closeAfterEach()

/** Names of calls, when statements are executed later than they were sent. */

let url: string
let sql: SQL
beforeAll(async () => {
  url = await newDatabase()
  await (await openPostgres({ url })).close()
  sql = new SQL({ url, max: 1 })
}, 30_000)
afterEach(async () => void (await sql.unsafe('TRUNCATE claims, owners')))
afterAll(() => sql.close())

const claimsOf = (owner: string, db: PostgresDatabase = tablesAt(url)) =>
  new PostgresClaims(db, { owner, leaseMs: 15_000 })

const named = (requestId: string, nameHash = requestId): NewClaim => ({
  ...{ keyId: 'key', nameHash, fingerprint: 'f', requestId },
})

const claimed = () => tablesAt(url).all('SELECT request_id, owner FROM claims ORDER BY request_id')

/** Something is sent while others may not write; what they do meanwhile comes before it. */
async function executedLate(send: () => Promise<unknown>, lock: string, meanwhile: (tx: TransactionSQL) => unknown) {
  const eyes = tablesAt(url)
  const waits = () => eyes.all('SELECT 1 AS one FROM pg_locks WHERE NOT granted')
  let sent: Promise<unknown> | undefined
  await sql.begin(async tx => {
    await tx.unsafe(lock)
    sent = send()
    expect(await eventually(waits, rows => rows.length > 0)).not.toEqual([])
    await meanwhile(tx)
  })
  await sent
}

test('whatever is left over of a replica is freed, and what is under way is not', async () => {
  const claims = claimsOf('one')
  for (const id of ['a', 'b', 'c']) expect(await claims.claim(named(id), 0)).toEqual({ type: 'ours' })
  await claims.tidy(new Set(['b']))
  expect(await claimed()).toEqual([{ request_id: 'b', owner: 'one' }])
})

test('what is claimed after it was sent is not taken for left over', async () => {
  const claims = claimsOf('one')
  await claims.claim(named('over'), 0)
  const underWay = new Set<string>()
  await executedLate(
    () => claims.tidy(underWay),
    'LOCK TABLE claims IN SHARE ROW EXCLUSIVE MODE',
    async tx => {
      underWay.add('young')
      await tx.unsafe(`INSERT INTO claims VALUES ('key', 'young', 'f', 'young', 'one')`)
    },
  )
  expect(await claimed()).toEqual([{ request_id: 'young', owner: 'one' }])
})

test('a name that somebody who has just begun took over from a dead one is left to it', async () => {
  await sql.unsafe(`INSERT INTO claims VALUES ('key', 'name', 'f', 'a', 'dead'), ('key', 'other', 'f', 'b', 'dead')`)
  const takeOver = `SELECT duet_claim_1('key', 'name', 'f', 'c', 'young', 15000, 0)`
  await executedLate(
    () => claimsOf('one').tidy(new Set()),
    takeOver,
    () => undefined,
  )
  expect(await claimed()).toEqual([{ request_id: 'c', owner: 'young' }])
})

test('a claim that was given up, and is executed after the next one of the same name, changes nothing', async () => {
  const claims = claimsOf('one')
  expect(await claims.claim(named('b', 'name'), 0)).toEqual({ type: 'ours' })
  expect(await claims.claim(named('a', 'name'), 0)).toMatchObject({ type: 'elsewhere' })
  expect(await claimed()).toEqual([{ request_id: 'b', owner: 'one' }])
  // The next one does: of two calls of one name, this replica makes the later one.
  expect(await claims.claim(named('c', 'name'), 0)).toEqual({ type: 'ours' })
  expect(await claimed()).toEqual([{ request_id: 'c', owner: 'one' }])
})
