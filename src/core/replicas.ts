import type { AttemptCounts } from './attempts.ts'
import type { Claims } from './claims.ts'
import type { KeyUses } from './key-uses.ts'

/** Of these, every replica keeps something in memory that another one may change. */
export type Topic = 'keys' | 'catalog'

/** What processes on one store must know of each other. A store that one process has to itself has none of it. */
export interface Replicas {
  readonly uses: KeyUses
  readonly claims: Claims
  readonly attempts: AttemptCounts
  /**
   * Calls back for each topic, at first and then whenever anybody has changed something, oneself included; if that fails,
   * once more. Resolves after the first time.
   */
  follow(changed: (topic: Topic) => Promise<void>, report: (error: unknown) => void): Promise<void>
  /** Does something that no other replica does at the same time; short, because the others wait. */
  alone<T>(what: string, work: () => Promise<T>): Promise<T>
  /** Forgets what was said and is of no use any more. */
  tidy(): Promise<void>
  /** The others need not wait until it is certain that this one is gone. */
  leave(): Promise<void>
}
