import { SQL } from 'bun'
import { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { Partitions } from '../../src/store/postgres/partitions.ts'
import { CALL, PRICE } from '../pair.ts'
import { say } from '../report/progress.ts'
import { type Past, peopleOf, requestsOf, SUMS } from './past.ts'

const SLICE_ROWS = 500_000

/** A new database with this past in it. Indices of what is large are made when all of it is there. */
export async function fill(url: string, past: Past): Promise<void> {
  const store = await openPostgres({ url })
  await store.prices.publish([{ model: CALL.model, price: PRICE }], past.from)
  await store.close()
  await makeMonths(url, past)

  const sql = new SQL(url, { max: 1 })
  try {
    await sql.unsafe('SET statement_timeout = 0')
    for (const statement of peopleOf(past)) await sql.unsafe(statement)
    const indices = await withoutIndices(sql)
    for (let first = 0; first < past.rows; first += SLICE_ROWS) {
      await sql.unsafe(requestsOf(past, { first, last: Math.min(past.rows, first + SLICE_ROWS) - 1 }))
      say(`${Math.min(past.rows, first + SLICE_ROWS).toLocaleString('en')} requests`)
    }
    for (const statement of SUMS) await sql.unsafe(statement)
    for (const definition of indices) await sql.unsafe(definition)
    await sql.unsafe(`SELECT setval('usage_id_seq', ${past.rows})`)
    await sql.unsafe('VACUUM ANALYZE')
  } finally {
    await sql.close()
  }
}

export async function isFilled(url: string): Promise<boolean> {
  const sql = new SQL(url, { max: 1 })
  try {
    const [row] = await sql.unsafe(`SELECT to_regclass('usage_hours') IS NOT NULL AS is_there`)
    if (!row.is_there) return false
    const [sums] = await sql.unsafe('SELECT EXISTS (SELECT FROM usage_hours) AS is_there')
    return sums.is_there
  } finally {
    await sql.close()
  }
}

async function makeMonths(url: string, { from, to }: Past): Promise<void> {
  const db = new PostgresDatabase({ url, connections: 1 })
  await new Partitions(db, {}).make(from, to)
  await db.close()
}

/** Drops those of usage and entries; returns how each is made. */
async function withoutIndices(sql: SQL): Promise<string[]> {
  const rows: { indexname: string; indexdef: string }[] = await sql.unsafe(
    `SELECT indexname, indexdef FROM pg_indexes WHERE tablename IN ('usage', 'entries')`,
  )
  for (const { indexname } of rows) await sql.unsafe(`DROP INDEX ${indexname}`)
  // Of the table and all its months at once.
  return rows.map(({ indexdef }) => indexdef.replace(' ON ONLY ', ' ON '))
}
