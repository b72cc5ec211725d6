import { isStoreAway } from './core/failure.ts'
import type { Log } from './telemetry/log.ts'

/** Something that has to be done now and then, and what it is called when it fails. */
export interface Chore {
  readonly name: string
  /** It waits for others: a start does not wait for it. */
  readonly isSlow?: boolean
  /** How often, where that is not as often as all others. */
  readonly everyMs?: number
  run(): Promise<unknown>
}

/**
 * Looks after what nobody asks for, at the start and then regularly. Each chore on its own: one that fails, or waits for
 * somebody, keeps no other from being done; one that is still under way is not begun again.
 */
export class Tending {
  private readonly chores: readonly Chore[]
  private readonly log: Log
  private readonly underWay = new Set<Chore>()
  private timers: readonly ReturnType<typeof setInterval>[] = []

  constructor(chores: readonly Chore[], log: Log) {
    this.chores = chores
    this.log = log
  }

  async begin(everyMs: number): Promise<void> {
    this.timers = this.chores.map(chore => setInterval(() => this.run(chore), chore.everyMs ?? everyMs))
    const begun = this.chores.map(chore => ({ chore, done: this.run(chore) }))
    await Promise.all(begun.filter(({ chore }) => !chore.isSlow).map(({ done }) => done))
  }

  end(): void {
    for (const timer of this.timers) clearInterval(timer)
  }

  private async run(chore: Chore): Promise<void> {
    if (this.underWay.has(chore)) return
    this.underWay.add(chore)
    try {
      await chore.run()
    } catch (error) {
      // That the store is away is told by the ledger, once.
      if (!isStoreAway(error)) this.log.error(`${chore.name} failed, and is tried again`, { error })
    } finally {
      this.underWay.delete(chore)
    }
  }
}
