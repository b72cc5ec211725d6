import { SQL } from 'bun'

const SIZES = `
  SELECT CASE WHEN c.relname = 'usage_hours' THEN 'sums by the hour' WHEN c.relname = 'usage_days' THEN 'sums by the day' WHEN c.relname LIKE 'usage%' THEN 'usage'
              WHEN c.relname LIKE 'entries%' THEN 'entries' END AS name,
         CAST(sum(c.reltuples) AS FLOAT) AS rows, CAST(sum(pg_table_size(c.oid)) AS FLOAT) AS bytes,
         CAST(sum(pg_indexes_size(c.oid)) AS FLOAT) AS indices
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'public' AND c.relkind = 'r' AND (c.relname LIKE 'usage%' OR c.relname LIKE 'entries%')
  GROUP BY 1 ORDER BY 1 DESC`

/** What rows take on the disk, in words. */
export async function sizesOf(url: string): Promise<string> {
  const sql = new SQL(url, { max: 1 })
  const tables: { name: string; rows: number; bytes: number; indices: number }[] = await sql.unsafe(SIZES)
  await sql.close()
  const words = tables.map(({ name, rows, bytes, indices }) => {
    const each = (part: number) => Math.round(part / rows).toLocaleString('en')
    return `${name}: ${Math.round(rows).toLocaleString('en')} rows, ${each(bytes)} bytes each and ${each(indices)} in indices`
  })
  return `${words.join('; ')}.`
}
