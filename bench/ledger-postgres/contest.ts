import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { newHex } from '../../src/core/ids.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import type { PostgresServer } from '../../test/support/postgres.ts'
import { openBooks } from './books.ts'
import type { CallersOptions, Counted } from './callers.ts'
import { Child } from './child.ts'
import { Meters, type Reading, type Written } from './meters.ts'

/** Who holds and settles where, and how many of them at once. */
export interface Contest {
  readonly store: 'sqlite process' | 'sqlite power' | 'postgres'
  readonly replicas: number
  readonly callersPerReplica: number
  readonly accounts: number
}

export interface Outcome {
  readonly replicas: readonly Counted[]
  /** What the database did meanwhile. */
  readonly database: Reading | undefined
  readonly written: Written | undefined
}

/** On a database that is new. */
export async function hold(contest: Contest, seconds: number, server: PostgresServer): Promise<Outcome> {
  return contest.store === 'postgres' ? onPostgres(contest, seconds, server) : onSqlite(contest, seconds)
}

async function onSqlite(contest: Contest, seconds: number): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'duet-bench-'))
  const durability = contest.store === 'sqlite power' ? 'power' : 'process'
  const database = join(folder, 'duet.db')
  try {
    const store = openSqlite({ path: database, durability: 'process' })
    await openBooks(store, contest.accounts)
    await store.close()
    const { replicas } = await run({ ...contest, database, durability }, seconds)
    return { replicas, database: undefined, written: undefined }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function onPostgres(contest: Contest, seconds: number, server: PostgresServer): Promise<Outcome> {
  const url = await copyOf(await booksOf(contest.accounts, server), server)
  const meters = new Meters(server.url, server.pid)
  const before = await meters.written(url)
  const { replicas, database } = await run({ ...contest, database: url, durability: 'power' }, seconds, meters)
  const after = await meters.written(url)
  await meters.close()
  return { replicas, database, written: difference(after, before) }
}

const books = new Map<number, string>()

/** Made once: ten thousand accounts take their time. */
async function booksOf(accounts: number, server: PostgresServer): Promise<string> {
  const known = books.get(accounts)
  if (known !== undefined) return known
  const url = await server.newDatabase()
  const store = await openPostgres({ url })
  await openBooks(store, accounts)
  await store.close()
  books.set(accounts, url)
  return url
}

async function copyOf(url: string, server: PostgresServer): Promise<string> {
  const [name, copy] = [new URL(url).pathname.slice(1), `duet_${newHex(8)}`]
  const sql = new SQL(server.url, { max: 1 })
  await sql.unsafe(`CREATE DATABASE ${copy} OWNER duet TEMPLATE ${name} STRATEGY FILE_COPY`)
  await sql.close()
  return url.replace(name, copy)
}

type Asked = Contest & Pick<CallersOptions, 'database' | 'durability'>

async function run(asked: Asked, seconds: number, meters?: Meters): Promise<Pick<Outcome, 'replicas' | 'database'>> {
  const { replicas, callersPerReplica: callers, accounts, database, durability } = asked
  const options: CallersOptions = { database, durability, callers, accounts }
  const children = Array.from({ length: replicas }, () => new Child(options))
  for (const child of children) await child.says('warm')
  const before = await meters?.read()
  for (const child of children) child.tell('begin')
  await Bun.sleep(seconds * 1_000)
  const after = await meters?.read()
  for (const child of children) child.tell('end')
  const counted = await Promise.all(children.map(child => child.answer()))
  return { replicas: counted, database: before && after && difference(after, before) }
}

/** Of everything that both have. */
function difference<T extends { readonly [name in keyof T]: number }>(after: T, before: T): T {
  const names = Object.keys(after) as (keyof T)[]
  return Object.fromEntries(names.map(name => [name, after[name] - before[name]])) as T
}
