import { BELIEVED_MS, type Heard, type KeyUse, type KeyUses } from '../../core/key-uses.ts'
import type { PostgresDatabase } from './database.ts'

const MINUTE_MS = 60_000

interface UseRow {
  readonly key_id: string
  readonly owner: string
  readonly under_way: bigint
  readonly recent: string
  readonly age: bigint
}

type RecentPair = readonly [ageMs: number, count: number]

export class PostgresKeyUses implements KeyUses {
  private readonly db: PostgresDatabase
  private readonly owner: string

  constructor(db: PostgresDatabase, owner: string) {
    this.db = db
    this.owner = owner
  }

  /** One round trip: what is said and what is heard need not be of the same moment. */
  async exchange(changed: readonly KeyUse[], keyIds: readonly string[]): Promise<Heard> {
    const { list, among } = this.db.dialect
    const rows = await this.db.all<UseRow>(
      `WITH said AS (
         INSERT INTO key_uses (key_id, owner, under_way, recent, at)
         SELECT value ->> 0, ?, CAST(value ->> 1 AS BIGINT), CAST(value -> 2 AS TEXT), duet_now() FROM ${list}
         ON CONFLICT (key_id, owner) DO UPDATE
           SET under_way = excluded.under_way, recent = excluded.recent, at = excluded.at
       )
       SELECT key_id, owner, under_way, recent, duet_now() - at AS age FROM key_uses
       WHERE ${among('key_id')} AND at > duet_now() - ${MINUTE_MS}`,
      ...[this.owner, JSON.stringify(changed.map(toSaid)), JSON.stringify(keyIds)],
    )
    const [own, others] = [rows.filter(row => this.isOwn(row)), rows.filter(row => !this.isOwn(row))]
    return { others: others.map(toUse), remembered: new Set(own.map(({ key_id }) => key_id)) }
  }

  private isOwn({ owner }: UseRow): boolean {
    return owner === this.owner
  }

  /** What replicas said that are gone, of requests that are older than a minute. */
  async forgetOld(): Promise<void> {
    await this.db.run(`DELETE FROM key_uses WHERE at < duet_now() - ${MINUTE_MS}`)
  }

  /** Nothing is under way here any more; what came in the last minute has come. */
  async leave(): Promise<void> {
    await this.db.run('UPDATE key_uses SET under_way = 0 WHERE owner = ? AND under_way > 0', this.owner)
  }
}

const toSaid = ({ keyId, underWay, recent }: KeyUse) => [
  keyId,
  underWay,
  recent.map(({ ageMs, count }): RecentPair => [ageMs, count]),
]

function toUse({ key_id, under_way, recent, age }: UseRow): KeyUse {
  const writtenMs = Math.max(0, Number(age))
  const pairs = JSON.parse(recent) as readonly RecentPair[]
  return {
    keyId: key_id,
    underWay: writtenMs < BELIEVED_MS ? Number(under_way) : 0,
    recent: pairs.map(([ageMs, count]) => ({ ageMs: ageMs + writtenMs, count })),
  }
}
