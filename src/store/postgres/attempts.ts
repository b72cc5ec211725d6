import type { AttemptCounts, AttemptLimits } from '../../core/attempts.ts'
import type { PostgresDatabase } from './database.ts'

export class PostgresAttempts implements AttemptCounts {
  private readonly db: PostgresDatabase

  constructor(db: PostgresDatabase) {
    this.db = db
  }

  async add(who: string, { failuresMax, windowMs }: AttemptLimits): Promise<number | undefined> {
    const counted = await this.db.run(
      `INSERT INTO attempts AS a (who, count, until) VALUES (?, 1, duet_now() + ?)
       ON CONFLICT (who) DO UPDATE
         SET count = CASE WHEN a.until > duet_now() THEN a.count + 1 ELSE 1 END,
             until = CASE WHEN a.until > duet_now() THEN a.until ELSE excluded.until END
         WHERE a.until <= duet_now() OR a.count < ?`,
      ...[who, windowMs, failuresMax],
    )
    if (counted > 0) return undefined
    const row = await this.db.get<{ left_ms: bigint }>(
      'SELECT until - duet_now() AS left_ms FROM attempts WHERE who = ?',
      who,
    )
    return Math.max(0, Number(row?.left_ms ?? 0n))
  }

  async takeBack(who: string): Promise<void> {
    await this.db.run('UPDATE attempts SET count = count - 1 WHERE who = ? AND count > 0', who)
  }

  async forget(who: string): Promise<void> {
    await this.db.run('DELETE FROM attempts WHERE who = ?', who)
  }

  async forgetOld(): Promise<void> {
    await this.db.run('DELETE FROM attempts WHERE until <= duet_now()')
  }
}
