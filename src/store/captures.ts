import type { Capture, Captures, Shortening, StoredCapture } from '../core/captures.ts'
import { endOfTurn } from '../core/turns.ts'
import type { Database, Value } from './database.ts'

const DAY_MS = 86_400_000
/** Rows that are changed without a pause: each may have half a megabyte. */
const SLICE_ROWS = 20

interface CaptureRow {
  readonly request_id: string
  readonly key_id: string
  readonly is_cut: bigint
  readonly created_at: bigint
  readonly expires_at: bigint
  readonly sealed: string
}

/** What was asked and answered. */
export class SqlCaptures implements Captures {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async keep({ requestId, keyId, sealed, isCut, createdAt }: Capture): Promise<void> {
    await this.db.run(
      `INSERT INTO captures (request_id, key_id, is_cut, created_at, expires_at, sealed)
       SELECT ?, id, ?, ?, ? + keep_days * ${DAY_MS}, ? FROM keys WHERE id = ? AND keep_days IS NOT NULL
       ON CONFLICT (request_id) DO NOTHING`,
      ...[requestId, isCut ? 1 : 0, createdAt, createdAt, sealed, keyId],
    )
  }

  async find(requestId: string, now: number): Promise<StoredCapture | undefined> {
    const row = await this.db.get<CaptureRow>(
      `SELECT c.* FROM captures c JOIN keys k ON k.id = c.key_id
       WHERE c.request_id = ? AND c.expires_at > ? AND k.keep_days IS NOT NULL`,
      requestId,
      now,
    )
    return row && toCapture(row)
  }

  async shorten({ keyId, keepDays = 0, now }: Shortening): Promise<void> {
    const keepMs = keepDays * DAY_MS
    await this.inSlices('DELETE FROM captures WHERE', 'key_id = ? AND created_at + ? <= ?', [keyId, keepMs, now])
    await this.inSlices(
      `UPDATE captures SET expires_at = created_at + ${keepMs} WHERE`,
      'key_id = ? AND expires_at > created_at + ?',
      [keyId, keepMs],
    )
  }

  purge(now: number): Promise<number> {
    return this.inSlices('DELETE FROM captures WHERE', 'expires_at <= ?', [now])
  }

  /** A few rows at a time, until no row is as the condition says. */
  private async inSlices(change: string, condition: string, values: readonly Value[]): Promise<number> {
    const some = `SELECT request_id FROM captures WHERE ${condition} LIMIT ${SLICE_ROWS}`
    // Asked once more of each row: somebody else may have changed it since it was chosen.
    const sql = `${change} request_id IN (${some}) AND ${condition}`
    let changed = 0
    for (let isDone = false; !isDone; ) {
      const count = await this.db.run(sql, ...values, ...values)
      changed += count
      isDone = count === 0
      await endOfTurn()
    }
    return changed
  }
}

const toCapture = (row: CaptureRow): StoredCapture => ({
  requestId: row.request_id,
  keyId: row.key_id,
  sealed: row.sealed,
  isCut: row.is_cut === 1n,
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
})
