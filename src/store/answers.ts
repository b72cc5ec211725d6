import type { AnswerName, Answers, StoredAnswer } from '../core/repeats.ts'
import { endOfTurn } from '../core/turns.ts'
import type { Database } from './database.ts'

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

/** Answers for those who ask again. The ledger writes them, with their charges. */
export class SqlAnswers implements Answers {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async find({ keyId, nameHash }: AnswerName, now: number): Promise<StoredAnswer | undefined> {
    const row = await this.db.get<AnswerRow>(
      'SELECT * FROM answers WHERE key_id = ? AND name_hash = ? AND expires_at > ?',
      ...[keyId, nameHash, now],
    )
    return row && toAnswer(row)
  }

  async purge(now: number): Promise<ReadonlyMap<string, number>> {
    const expired = `SELECT key_id, name_hash FROM answers WHERE expires_at <= ? LIMIT ${SLICE_ROWS}`
    // Asked once more of each row: its name may have been given to a new answer since it was chosen.
    const sql = `DELETE FROM answers WHERE (key_id, name_hash) IN (${expired}) AND expires_at <= ?`
    while ((await this.db.run(sql, now, now)) > 0) await endOfTurn()
    const rows = await this.db.all<{ key_id: string; bytes: bigint }>(
      'SELECT key_id, CAST(coalesce(sum(length(sealed)), 0) AS BIGINT) AS bytes FROM answers GROUP BY key_id',
    )
    return new Map(rows.map(({ key_id, bytes }) => [key_id, Number(bytes)]))
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
