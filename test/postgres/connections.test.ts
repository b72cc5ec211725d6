import { afterEach, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { StoreUnavailable } from '../../src/core/store.ts'
import { ask } from '../../src/store/database.ts'
import { PostgresDatabase, type PostgresOptions } from '../../src/store/postgres/database.ts'
import { newDatabase } from '../support/databases.ts'
import { eventually } from '../support/wire.ts'
import { Books, closeAfterEach } from './books.ts'

closeAfterEach()

/** Who waits for whom. Nothing here is measured: whoever waits for the wrong one waits for ever. */

interface Opened {
  readonly url: string
  readonly db: PostgresDatabase
}

async function open(options: Partial<PostgresOptions> = {}): Promise<Opened> {
  const url = await newDatabase()
  return { url, db: openAgain(url, options) }
}

function openAgain(url: string, options: Partial<PostgresOptions> = {}): PostgresDatabase {
  const db = new PostgresDatabase({ url, connections: 3, ...options })
  opened.push(db)
  return db
}

const opened: PostgresDatabase[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map(db => db.close()))
})

/** The server itself gives nothing up: it would be the first to, and say so. */
const PATIENT = { statement_timeout: 0, lock_timeout: 0 }

/** Whoever asks for `wait` is answered when `release` was called. */
async function hold(db: PostgresDatabase): Promise<{ readonly wait: string; release(): void }> {
  const [isTaken, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  db.alone('what others wait for', () => {
    isTaken.resolve()
    return isReleased.promise
  }).catch(isTaken.reject)
  await isTaken.promise
  const wait = `SELECT pg_advisory_xact_lock_shared(hashtextextended('what others wait for', 0))`
  return { wait, release: isReleased.resolve }
}

/** Time enough, whatever the others have. */
const patiently = (db: PostgresDatabase, sql: string): Promise<readonly unknown[]> =>
  db.patiently(30_000, () => ask.all(sql))

test('a slow question delays nobody, however many come, as long as another connection is free', async () => {
  const { db } = await open()
  const held = await hold(db)
  const slow = db.all(held.wait)
  const quick = await Promise.all(Array.from({ length: 200 }, (_, place) => db.get('SELECT ? AS place', `${place}`)))
  expect(quick).toEqual(quick.map((_, place) => ({ place: `${place}` })))
  held.release()
  expect(await slow).toHaveLength(1)
})

test('who waits too long for a connection is refused, and nobody else is', async () => {
  const { db } = await open({ connections: 1, answerMsMax: 500, settings: PATIENT })
  const held = await hold(db)
  const slow = patiently(db, held.wait)
  const refused = await Promise.allSettled(Array.from({ length: 20 }, () => db.get('SELECT 1')))
  for (const { status, ...rest } of refused) {
    expect(status).toBe('rejected')
    expect(rest).toEqual({ reason: new StoreUnavailable('the database is too busy') })
  }
  held.release()
  expect(await slow).toHaveLength(1)
  expect(await db.get('SELECT 1 AS one')).toEqual({ one: 1 })
})

test('a question that is never answered is given up by itself: others of the same time are answered', async () => {
  const { db } = await open({ connections: 2, answerMsMax: 500, settings: PATIENT })
  const held = await hold(db)
  const other = patiently(db, held.wait)
  await expect(db.get(held.wait)).rejects.toThrow(new StoreUnavailable('the database does not answer'))
  await expect(db.get(held.wait)).rejects.toThrow(new StoreUnavailable('the database does not answer'))
  held.release()
  expect(await other).toHaveLength(1)
  expect(await db.get('SELECT 1 AS one')).toEqual({ one: 1 })
})

test('the limit is for each statement, and not for all that belong together', async () => {
  const { db } = await open({ answerMsMax: 1_000 })
  const slow = function* () {
    for (let place = 0; place < 4; place++) yield* ask.run('SELECT pg_sleep(0.4)')
    return 'done'
  }
  expect(await Promise.all([db.snapshot(slow), db.transaction(slow)])).toEqual(['done', 'done'])
})

test('calls are served while people and strangers ask more than can be answered', async () => {
  const books = await Books.open({ accounts: ['ann'], keys: 1, balance: 1_000n })
  const { directory, people, replicas } = books.store
  const known = await directory.authenticate('hash of ann-1', 0)
  const claims = replicas?.('one').claims
  const sql = new SQL({ url: books.url, max: 1 })
  const isReleased = Promise.withResolvers<void>()
  const isTaken = Promise.withResolvers<void>()
  const locking = sql.begin(async tx => {
    await tx.unsafe('LOCK TABLE keys, users IN ACCESS EXCLUSIVE MODE')
    isTaken.resolve()
    await isReleased.promise
  })
  await isTaken.promise
  const strangers = Array.from({ length: 100 }, (_, place) => directory.authenticate(`unknown ${place}`, 0))
  const visitors = Array.from({ length: 100 }, () => people.users({ cursor: undefined, limit: 1 }))

  expect(await directory.authenticate('hash of ann-1', 0)).toEqual(known)
  const claim = { keyId: 'ann-1', nameHash: 'name', fingerprint: 'f', requestId: 'a' }
  expect(await claims?.claim(claim, 0)).toEqual({ type: 'ours' })
  expect(await books.store.answers.find({ keyId: 'ann-1', nameHash: 'name' }, 0)).toBeUndefined()

  isReleased.resolve()
  await locking
  await sql.close()
  expect(new Set(await Promise.all(strangers))).toEqual(new Set([undefined]))
  expect(await Promise.all(visitors)).toHaveLength(100)
})

test('connections begin as they must, whatever the database was told', async () => {
  const { url, db } = await open()
  const name = new URL(url).pathname.slice(1)
  await db.script(`ALTER DATABASE "${name}" SET default_transaction_isolation = 'serializable'`)
  const isolation = await openAgain(url).get('SHOW transaction_isolation')
  expect(isolation).toEqual({ transaction_isolation: 'read committed' })
})

// ── alone ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('who does something alone is alone until it is done, and whoever waited in vain has not begun', async () => {
  const { url, db: here } = await open({ answerMsMax: 300 })
  const there = openAgain(url, { answerMsMax: 300 })
  const [isOver, hasBegun] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()]
  const first = here.alone('catalog', () => {
    hasBegun.resolve()
    return isOver.promise
  })
  await hasBegun.promise
  const begun: string[] = []
  const begin = async (what: string) => begun.push(what)
  await expect(there.alone('catalog', () => begin('second'), 700)).rejects.toThrow(StoreUnavailable)
  await there.alone('another', () => begin('another'))
  const third = there.alone('catalog', () => begin('third'))
  expect(begun).toEqual(['another'])
  isOver.resolve('done')
  expect(await first).toBe('done')
  await third
  expect(begun).toEqual(['another', 'third'])
})

test('as many may be alone with something as like, and the connections are left to what they do', async () => {
  const { db } = await open({ connections: 1 })
  const names = Array.from({ length: 6 }, (_, place) => `thing ${place}`)
  const done = await Promise.all(names.map(name => db.alone(name, () => db.get('SELECT ? AS name', name))))
  expect(done).toEqual(names.map(name => ({ name })))
  const left = () =>
    db.all(`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND backend_type = 'client backend'`)
  expect(await eventually(left, rows => rows.length === 0)).toEqual([])
})

test('work that fails alone fails as it did, and the next one has its turn', async () => {
  const { db } = await open()
  await expect(db.alone('x', () => Promise.reject(new Error('no')))).rejects.toThrow(new Error('no'))
  expect(await db.alone('x', async () => 'next')).toBe('next')
})
