import type { Topic } from '../../core/replicas.ts'
import { Soon } from '../../core/soon.ts'
import { StoreUnavailable } from '../../core/store.ts'
import type { PostgresDatabase } from './database.ts'

export interface Followed {
  /** Where it fails, the same change is told again. */
  changed(topic: Topic): Promise<void>
  report(error: unknown): void
}

interface ChangeRow {
  readonly topic: Topic
  readonly version: bigint
}

const CHANNEL = 'duet_changes'
/** In case that nothing is heard although something was said. */
const LOOK_MS = 1_000

/**
 * Tells what others have changed. The table of versions is the truth: what is heard on the channel, and every new
 * connection to it, is only a reason to look there at once instead of within a second.
 */
export class PostgresChanges {
  private readonly db: PostgresDatabase
  private readonly versions = new Map<Topic, bigint>()
  private passedOn: Promise<unknown> = Promise.resolve()
  private timer: ReturnType<typeof setInterval> | undefined
  /** Ends it; undefined where nothing would be heard. */
  private listening: Promise<() => void> | undefined
  /** What was last reported: the same every second is told once. */
  private problem = ''

  constructor(db: PostgresDatabase) {
    this.db = db
  }

  /** Resolves after the first look, which tells all topics. */
  async follow(followed: Followed): Promise<void> {
    const soon = new Soon(() => this.look(followed))
    const tell = (error: unknown) => this.tell(error, followed)
    const look = () =>
      soon.do().catch(async error => {
        tell(error)
        await this.endListening()
      })
    const listen = () => this.listen(look).catch(tell)
    this.timer = setInterval(() => {
      listen()
      look()
    }, LOOK_MS)
    await listen()
    await look()
    await this.passedOn
  }

  stop(): void {
    clearInterval(this.timer)
    this.endListening()
  }

  private async listen(look: () => void): Promise<void> {
    if (this.listening) return
    const listening = this.db.listen(CHANNEL, look, look)
    this.listening = listening
    try {
      await listening
    } catch (error) {
      if (this.listening === listening) this.listening = undefined
      throw error
    }
  }

  /** Where nothing can be asked, nobody knows whether anything can still be heard: then that begins anew, too. */
  private async endListening(): Promise<void> {
    const { listening } = this
    this.listening = undefined
    const end = await listening?.catch(() => undefined)
    end?.()
  }

  /** Does not wait for what it sets off: a catalog that is long in the making must not delay the end of a key. */
  private async look(followed: Followed): Promise<void> {
    const rows = await this.db.all<ChangeRow>('SELECT topic, version FROM changes')
    const news = rows.filter(({ topic, version }) => this.versions.get(topic) !== version)
    this.passedOn = Promise.all(news.map(row => this.passOn(row, followed)))
  }

  private async passOn({ topic, version }: ChangeRow, followed: Followed): Promise<void> {
    this.versions.set(topic, version)
    try {
      await followed.changed(topic)
    } catch (error) {
      this.versions.delete(topic)
      this.tell(error, followed)
    }
  }

  /** That the database is away is said elsewhere. */
  private tell(error: unknown, { report }: Followed): void {
    const problem = String(error)
    if (error instanceof StoreUnavailable || problem === this.problem) return
    this.problem = problem
    report(error)
  }
}
