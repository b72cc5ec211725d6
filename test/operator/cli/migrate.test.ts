import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { MIGRATIONS as POSTGRES_MIGRATIONS, SCHEMA_LOCK } from '../../../src/store/postgres/migrate.ts'
import { MIGRATION_NAMES, MIGRATIONS } from '../../../src/store/sqlite/migrations.ts'
import { newDatabase } from '../../support/databases.ts'
import { newFolder, startDuet } from '../../support/duet.ts'
import { DATABASE_PASSWORD } from '../../support/postgres.ts'
import { eventually } from '../../support/wire.ts'
import { EMBEDDED, freePort, readTable, run } from './run.ts'
import { lookInto, placeIn } from './tables.ts'

const NEWEST = String(MIGRATIONS.length)

/** A folder with a database as an older version left it. */
function olderFolder(version: number): string {
  const folder = newFolder()
  const db = new Database(join(folder, 'duet.db'), { create: true, strict: true })
  const [first] = MIGRATIONS
  if (typeof first !== 'string') throw new Error('the first version is plain SQL')
  db.run(first)
  db.run(`INSERT INTO accounts VALUES ('default', 'default', 'default', 7, 0, 0, 1)`)
  db.run(`INSERT INTO entries VALUES (1, 'default', 'topup', 7, 7, 'opening', NULL, NULL, 1)`)
  db.run(`PRAGMA user_version = ${version}`)
  db.close()
  return folder
}

function versionIn(path: string): unknown {
  const db = new Database(path, { readonly: true })
  const row = db.query('PRAGMA user_version').get()
  db.close()
  return row
}

const filesIn = (folder: string): string[] => readdirSync(folder).filter(name => name.includes('before'))

describe('duet migrate on PostgreSQL', () => {
  const all = POSTGRES_MIGRATIONS.map(({ name }, place) => ({ version: place + 1, name }))

  test('says what it would apply, applies it, and has nothing to do then', async () => {
    const env = { DUET_DATABASE_URL: await newDatabase() }
    const place = placeIn(env.DUET_DATABASE_URL)
    const missing = `${all.length} migrations`

    const check = await run(['migrate', '--check'], { env })
    expect([check.code, check.err]).toEqual([3, `duet: ${place}: ${missing} would be applied\n`])
    expect(readTable(check.out).map(({ SCHEMA, WHAT }) => [SCHEMA, WHAT])).toEqual(
      all.map(({ version, name }) => [String(version), name]),
    )
    const again = await run(['migrate', '--check', '--json'], { env })
    expect(again.code).toBe(3)
    expect(JSON.parse(again.out)).toEqual({ database: place, schema: all.length, pending: all })

    const applied = await run(['migrate'], { env })
    expect(applied).toEqual({ code: 0, out: check.out, err: `${place}: ${missing} applied\n` })
    for (const words of [['migrate'], ['migrate', '--check']]) {
      const { code, out, err } = await run(words, { env })
      expect([code, out, err]).toEqual([0, `${place} is up to date (schema ${all.length})\n`, ''])
    }
    expect(JSON.parse((await run(['migrate', '--json'], { env })).out)).toEqual({
      ...{ database: place, schema: all.length, applied: [], backup: null },
    })
  })

  test('waits for another that is at it, and says so', async () => {
    const url = await newDatabase()
    const other = lookInto(url)
    const held = await other.reserve()
    await held.unsafe(`SELECT pg_advisory_lock(${SCHEMA_LOCK})`)
    const running = run(['migrate'], { env: { DUET_DATABASE_URL: url } })
    await eventually(
      () =>
        other.unsafe(
          `SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
           WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`,
        ),
      rows => rows.length > 0,
    )
    await held.unsafe(`SELECT pg_advisory_unlock(${SCHEMA_LOCK})`)
    held.release()
    const { code, err } = await running
    expect(code).toBe(0)
    expect(err).toStartWith(`another Duet is changing the schema of ${placeIn(url)}: waiting for it\n`)
    await other.close()
  })

  test('of several at once, each migration is applied by one', async () => {
    const env = { DUET_DATABASE_URL: await newDatabase() }
    const ran = await Promise.all([1, 2, 3].map(() => run(['migrate', '--quiet'], { env })))
    expect(ran.map(({ code, err }) => [code, err])).toEqual([1, 2, 3].map(() => [0, '']))
    const applied = ran.flatMap(({ out }) => out.split('\n').filter(Boolean).map(Number))
    expect(applied.sort()).toEqual(all.map(({ version }) => version))
  })

  test('refuses the form of a newer version, and so does a start', async () => {
    const url = await newDatabase()
    const env = {
      DUET_DATABASE_URL: url,
      DUET_SECRET: 'a secret of this test'.replaceAll(' ', '-'),
      DUET_PORT: freePort(),
    }
    await run(['migrate'], { env })
    const sql = lookInto(url)
    await sql.unsafe(`INSERT INTO schema_version VALUES (999, 'the future', 1)`)
    await sql.close()
    for (const words of [['migrate'], ['migrate', '--check'], ['start']]) {
      const { code, out, err } = await run(words, { env })
      expect([code, out]).toEqual([1, ''])
      expect(err).toContain('the database was written by a newer version of Duet')
      expect(err.trimEnd()).not.toContain('\n')
    }
  })

  test('one that does not answer is one line without its password', async () => {
    const url = `postgres://duet:${DATABASE_PASSWORD}@127.0.0.1:${freePort()}/duet`
    const { code, out, err } = await run(['migrate'], { env: { DUET_DATABASE_URL: url } })
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^duet: the database 127\.0\.0\.1:\d+\/duet does not answer \(.+\)\n$/)
    expect(err).not.toContain(DATABASE_PASSWORD)
  })

  test('an address that is none is typed wrongly, and is not repeated', async () => {
    const { code, err } = await run(['migrate'], {
      env: { DUET_DATABASE_URL: `mysql://duet:${DATABASE_PASSWORD}@x/y` },
    })
    expect(code).toBe(2)
    expect(err).toStartWith('duet: DUET_DATABASE_URL: must be an address such as postgres://')
    expect(err).not.toContain(DATABASE_PASSWORD)
  })
})

describe('duet migrate on the embedded database', () => {
  test('every migration has a name', () => {
    expect(MIGRATION_NAMES).toHaveLength(MIGRATIONS.length)
  })

  test('an older one is copied, then brought up to date', async () => {
    const folder = olderFolder(1)
    const path = join(folder, 'duet.db')
    const env = { DUET_DATA: folder }

    const check = await run(['migrate', '--check'], { env })
    expect(check.code).toBe(3)
    expect(readTable(check.out).map(({ SCHEMA }) => SCHEMA)).toEqual(
      MIGRATION_NAMES.slice(1).map((_, n) => String(n + 2)),
    )
    expect(versionIn(path)).toEqual({ user_version: 1 })
    expect(filesIn(folder)).toEqual([])

    const { code, out, err } = await run(['migrate', '--json'], { env })
    expect([code, err]).toEqual([0, ''])
    const [copy] = filesIn(folder)
    const { backup, applied } = JSON.parse(out)
    expect(backup).toBe(join(folder, copy ?? ''))
    expect(applied).toHaveLength(MIGRATIONS.length - 1)
    expect([versionIn(path), versionIn(backup)]).toEqual([{ user_version: MIGRATIONS.length }, { user_version: 1 }])
    expect((await run(['ledger', 'verify', '--data', folder])).code).toBe(0)

    expect((await run(['migrate'], { env })).out).toBe(`${path} is up to date (schema ${NEWEST})\n`)
    expect(filesIn(folder)).toHaveLength(1)
  })

  test('where there is none it is made, with nothing to copy', async () => {
    const folder = join(newFolder(), 'data')
    const { code, err } = await run(['migrate'], { env: { DUET_DATA: folder } })
    expect(code).toBe(0)
    expect(err).toBe(`${join(folder, 'duet.db')}: ${NEWEST} migrations applied\n`)
    expect(readdirSync(folder)).toContain('duet.db')
  })

  test('a newer one is refused', async () => {
    const folder = newFolder()
    mkdirSync(folder, { recursive: true })
    const db = new Database(join(folder, 'duet.db'), { create: true })
    db.run('PRAGMA user_version = 999')
    db.close()
    for (const words of [['migrate'], ['migrate', '--check']]) {
      const { code, out, err } = await run(words, { env: { DUET_DATA: folder } })
      expect([code, out, err]).toEqual([1, '', 'duet: the database was written by a newer version of Duet\n'])
    }
  })

  test('one that a Duet is using is left alone', async () => {
    const server = await startDuet({ env: EMBEDDED })
    const path = join(server.folder, 'data', 'duet.db')
    const { code, out, err } = await run(['migrate'], { env: { DUET_DATA: join(server.folder, 'data') } })
    expect([code, out]).toEqual([1, ''])
    expect(err).toBe(`duet: another Duet is using ${path}; it has brought it up to date when it started\n`)
    await server.stop()
  })
})
