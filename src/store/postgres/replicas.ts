import type { Replicas, Topic } from '../../core/replicas.ts'
import { PostgresAttempts } from './attempts.ts'
import { PostgresChanges } from './changes.ts'
import { PostgresClaims, type Replica } from './claims.ts'
import type { PostgresDatabase } from './database.ts'
import { PostgresKeyUses } from './key-uses.ts'

/** What replicas know of each other, by way of the database that they share and in no other way. */
export class PostgresReplicas implements Replicas {
  private readonly db: PostgresDatabase
  private readonly changes: PostgresChanges
  readonly uses: PostgresKeyUses
  readonly claims: PostgresClaims
  readonly attempts: PostgresAttempts

  constructor(db: PostgresDatabase, replica: Replica) {
    this.db = db
    this.changes = new PostgresChanges(db)
    this.uses = new PostgresKeyUses(db, replica.owner)
    this.claims = new PostgresClaims(db, replica)
    this.attempts = new PostgresAttempts(db)
  }

  follow(changed: (topic: Topic) => Promise<void>, report: (error: unknown) => void): Promise<void> {
    return this.changes.follow({ changed, report })
  }

  alone<T>(what: string, work: () => Promise<T>): Promise<T> {
    return this.db.alone(what, work)
  }

  async tidy(): Promise<void> {
    await this.uses.forgetOld()
    await this.attempts.forgetOld()
  }

  async leave(): Promise<void> {
    this.changes.stop()
    await this.claims.releaseAll()
    await this.uses.leave()
  }
}
