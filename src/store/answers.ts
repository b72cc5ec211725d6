import type { AnswerName, Answers, StoredAnswer } from '../core/repeats.ts'
import { endOfTurn } from '../core/turns.ts'
import type { EmbeddedDatabase } from './database.ts'

/** Rows that are deleted without a pause: each may have megabytes. */
const SLICE_ROWS = 10

interface AnswerRow {
  readonly key_id: string
  readonly name_hash: string
  readonly fingerprint: string
  readonly request_id: string
  readonly headers: string
  readonly is_stream: bigint
  readonly sealed: Uint8Array | null
  readonly expires_at: bigint
}

/** Answers for those who ask again, on the embedded database. `writer.ts` writes them, with their charges. */
export class SqliteAnswers implements Answers {
  private readonly db: EmbeddedDatabase

  constructor(db: EmbeddedDatabase) {
    this.db = db
  }

  async find({ keyId, nameHash }: AnswerName, now: number): Promise<StoredAnswer | undefined> {
    const row = this.db.get<AnswerRow>(
      'SELECT * FROM answers WHERE key_id = ? AND name_hash = ? AND expires_at > ?',
      ...[keyId, nameHash, now],
    )
    return row && toAnswer(row)
  }

  async purge(now: number): Promise<ReadonlyMap<string, number>> {
    const expired = `SELECT rowid FROM answers WHERE expires_at <= ? LIMIT ${SLICE_ROWS}`
    while (this.db.run(`DELETE FROM answers WHERE rowid IN (${expired})`, now) > 0) await endOfTurn()
    const rows = this.db.all<{ key_id: string; bytes: number }>(
      'SELECT key_id, total(length(sealed)) AS bytes FROM answers GROUP BY key_id',
    )
    return new Map(rows.map(({ key_id, bytes }) => [key_id, bytes]))
  }
}

const toAnswer = (row: AnswerRow): StoredAnswer => ({
  keyId: row.key_id,
  nameHash: row.name_hash,
  fingerprint: row.fingerprint,
  requestId: row.request_id,
  headers: JSON.parse(row.headers) as Record<string, string>,
  isStream: row.is_stream === 1n,
  sealed: row.sealed ?? undefined,
  expiresAt: Number(row.expires_at),
})
