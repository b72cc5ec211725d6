import { SQL } from 'bun'
import { cpuSeconds } from '../machine/processes.ts'

/** What the database says of itself, counted up since it was started; times in microseconds. */
export interface Reading {
  readonly cpu: number
  readonly walBytes: number
  readonly flushes: number
  readonly flushMicroseconds: number
}

/** Rows that were written since the database was made, and the bytes that they and their indices take. */
export interface Written {
  readonly inserted: number
  readonly updated: number
  readonly deleted: number
  /** Of usage, entries and sums by the hour: what stays. */
  readonly bytes: number
}

const WRITTEN = `
  SELECT CAST(sum(n_tup_ins) AS BIGINT) AS inserted, CAST(sum(n_tup_upd) AS BIGINT) AS updated,
         CAST(sum(n_tup_del) AS BIGINT) AS deleted,
         CAST(coalesce(sum(pg_total_relation_size(relid)) FILTER (
           WHERE relname LIKE 'usage%' OR relname LIKE 'entries%'), 0) AS BIGINT) AS bytes
  FROM pg_stat_user_tables`

/** A look at a server that somebody else keeps busy. */
export class Meters {
  private readonly pid: number
  private readonly sql: SQL

  /** As its superuser; `pid` is of its first process. */
  constructor(url: string, pid: number) {
    this.pid = pid
    this.sql = new SQL(url, { max: 1 })
  }

  async read(): Promise<Reading> {
    const [row] = await this.sql`
      SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS FLOAT) AS bytes, CAST(wal_sync AS FLOAT) AS flushes,
             wal_sync_time AS ms FROM pg_stat_wal`
    return {
      cpu: cpuSeconds(this.pid) * 1e6,
      walBytes: row.bytes,
      flushes: row.flushes,
      flushMicroseconds: row.ms * 1_000,
    }
  }

  /** Of one database, when nobody is connected to it any more: counts are handed in at the end of a connection. */
  async written(url: string): Promise<Written> {
    const sql = new SQL(url, { max: 1 })
    try {
      const [row] = await sql.unsafe(WRITTEN)
      const { inserted, updated, deleted, bytes } = row as Record<keyof Written, string>
      return { inserted: Number(inserted), updated: Number(updated), deleted: Number(deleted), bytes: Number(bytes) }
    } finally {
      await sql.close()
    }
  }

  async close(): Promise<void> {
    await this.sql.close()
  }
}
