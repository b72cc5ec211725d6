import type { Claimed, Claims, NewClaim } from '../../core/claims.ts'
import type { PostgresDatabase } from './database.ts'

/** Who claims, and for how long it is believed to live without a sign. */
export interface Replica {
  readonly owner: string
  readonly leaseMs: number
}

interface ClaimRow {
  readonly state: Claimed['type']
  readonly fingerprint: string | null
}

export class PostgresClaims implements Claims {
  private readonly db: PostgresDatabase
  private readonly owner: string
  private readonly leaseMs: number

  constructor(db: PostgresDatabase, { owner, leaseMs }: Replica) {
    this.db = db
    this.owner = owner
    this.leaseMs = leaseMs
  }

  async claim({ keyId, nameHash, fingerprint, requestId }: NewClaim, now: number): Promise<Claimed> {
    const row = await this.db.get<ClaimRow>(
      'SELECT state, fingerprint FROM duet_claim_1(?, ?, ?, ?, ?, ?, ?)',
      ...[keyId, nameHash, fingerprint, requestId, this.owner, this.leaseMs, now],
    )
    if (row?.state === 'ours' || row?.state === 'answered') return { type: row.state }
    return { type: 'elsewhere', fingerprint: row?.fingerprint ?? '' }
  }

  async release({ keyId, nameHash, requestId }: Pick<NewClaim, 'keyId' | 'nameHash' | 'requestId'>): Promise<void> {
    await this.db.run(
      'DELETE FROM claims WHERE key_id = ? AND name_hash = ? AND request_id = ?',
      ...[keyId, nameHash, requestId],
    )
  }

  async tidy(underWay: ReadonlySet<string>): Promise<void> {
    await this.tidyOwn(underWay)
    await this.tidyDead()
  }

  /**
   * Names what is left over instead of what is under way: a statement that is executed late must not take for left over what
   * was claimed after it was sent.
   */
  private async tidyOwn(underWay: ReadonlySet<string>): Promise<void> {
    const own = await this.db.all<{ request_id: string }>('SELECT request_id FROM claims WHERE owner = ?', this.owner)
    const leftOver = own.map(row => row.request_id).filter(requestId => !underWay.has(requestId))
    if (leftOver.length === 0) return
    await this.db.run(
      `DELETE FROM claims WHERE owner = ? AND ${this.db.dialect.among('request_id')}`,
      ...[this.owner, JSON.stringify(leftOver)],
    )
  }

  /** Each by its request: somebody who lives may have taken the name over by now. */
  private async tidyDead(): Promise<void> {
    await this.db.run(
      `DELETE FROM claims c USING claims dead
       WHERE dead.owner <> ? AND NOT duet_is_made_1(dead.owner, dead.request_id)
         AND c.key_id = dead.key_id AND c.name_hash = dead.name_hash AND c.request_id = dead.request_id`,
      this.owner,
    )
  }

  /** All of them: nothing is under way here any more. */
  async releaseAll(): Promise<void> {
    await this.db.run('DELETE FROM claims WHERE owner = ?', this.owner)
  }
}
