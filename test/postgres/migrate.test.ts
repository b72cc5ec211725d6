import { expect, test } from 'bun:test'
import { MIGRATIONS, migrate } from '../../src/store/postgres/migrate.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { newDatabase } from '../support/databases.ts'
import { closeAfterEach, tablesAt } from './books.ts'

closeAfterEach()

const NAMES = MIGRATIONS.map(({ name }) => name)

test('replicas that start together on an empty database make its tables once', async () => {
  const url = await newDatabase()
  const applied = await Promise.all(Array.from({ length: 4 }, () => migrate(tablesAt(url))))
  expect(applied.flat().sort()).toEqual([...NAMES].sort())
  const db = tablesAt(url)
  expect(await db.all('SELECT name FROM schema_version ORDER BY version')).toEqual(NAMES.map(name => ({ name })))
  expect(await migrate(db)).toEqual([])
})

test('a database of a newer version is refused in one line, and left as it is', async () => {
  const url = await newDatabase()
  const db = tablesAt(url)
  await migrate(db)
  const newer = MIGRATIONS.length + 1
  await db.run(`INSERT INTO schema_version VALUES (?, 'tomorrow', 0)`, newer)
  const refusal = `the database was written by a newer version of Duet (its schema is number ${newer}, this one knows ${MIGRATIONS.length})`
  await expect(migrate(db)).rejects.toThrow(refusal)
  await expect(openPostgres({ url })).rejects.toThrow(refusal)
})

test('a migration that fails leaves nothing behind', async () => {
  const url = await newDatabase()
  const db = tablesAt(url)
  // In the way of the first one.
  await db.run('CREATE TABLE holds (id BIGINT)')
  await expect(migrate(db)).rejects.toThrow('already exists')
  expect(await db.get(`SELECT to_regclass('accounts') AS name`)).toEqual({ name: null })
  await db.run('DROP TABLE holds')
  expect(await migrate(db)).toEqual(NAMES)
})
