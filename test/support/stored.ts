import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { STORE } from './databases.ts'
import { openTablesOf } from './stores.ts'

/** Files that are secrets by themselves. */
export const SECRET_FILES = ['secret', 'admin-token']

const TABLES = `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`

/** All that a Duet in this folder keeps, as it is: its files, and on PostgreSQL every row of every table. */
export async function storedBytes(folder: string, without: readonly string[] = []): Promise<string> {
  const data = join(folder, 'data')
  const names = existsSync(data) ? readdirSync(data).filter(name => !without.includes(name)) : []
  const files = names.map(name => readFileSync(join(data, name), 'latin1'))
  return [...files, ...(STORE === 'postgres' ? await valuesIn(folder) : [])].join('\n')
}

async function valuesIn(folder: string): Promise<string[]> {
  const tables = await openTablesOf(folder)
  const values: string[] = []
  for (const { name } of await tables.all<{ name: string }>(TABLES)) {
    for (const row of await tables.all<object>(`SELECT * FROM ${name}`)) values.push(...Object.values(row).map(textOf))
  }
  await tables.close()
  return values
}

const textOf = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
