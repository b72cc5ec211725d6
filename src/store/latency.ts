import { percentile } from '../core/percentile.ts'
import type { Latency, Percentiles, UsageFilter } from '../core/records.ts'
import type { Database } from './database.ts'
import { filtersOf } from './usage-pages.ts'

interface Timings {
  readonly duration_ms: bigint
  readonly first_byte_ms: bigint | null
}

/** How long answers took. One index finds the latest rows, so the size of the table does not matter. */
export async function latencyOf(db: Database, filter: UsageFilter, sampleMax: number): Promise<Latency> {
  const { indexed, rest } = filtersOf({ ...filter, status: 'ok' })
  const rows = await db.all<Timings>(
    `SELECT duration_ms, first_byte_ms FROM (
       SELECT * FROM usage ${db.dialect.usingIndex(indexed.index)}
       WHERE ${indexed.sql} AND started_at >= ? AND started_at < ? ORDER BY started_at DESC LIMIT ${sampleMax}
     ) AS latest WHERE ${rest?.sql ?? 'TRUE'}`,
    ...indexed.values,
    ...[filter.from ?? 0, filter.to ?? Number.MAX_SAFE_INTEGER],
    ...(rest?.values ?? []),
  )
  return {
    sample: rows.length,
    duration: percentiles(rows.map(row => Number(row.duration_ms))),
    firstByte: percentiles(rows.flatMap(row => (row.first_byte_ms === null ? [] : [Number(row.first_byte_ms)]))),
  }
}

function percentiles(values: readonly number[]): Percentiles | undefined {
  const [p50, p95] = [percentile(values, 50), percentile(values, 95)]
  return p50 === undefined || p95 === undefined ? undefined : { p50, p95 }
}
