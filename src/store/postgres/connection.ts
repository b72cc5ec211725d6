import { SQL } from 'bun'
import { StoreUnavailable } from '../../core/store.ts'
import { storeErrorOf } from './errors.ts'

export interface ConnectionOptions {
  readonly url: string
  /** What the server is told for it. */
  readonly settings: Settings
}

export type Settings = Readonly<Record<string, string | number>>

interface Line {
  readonly sql: SQL
  /** Whether the server was told the settings since it was last connected to. */
  isTold: boolean
}

const CONNECT_SECONDS_MAX = 5

/**
 * One connection, for one user at a time: the driver would hand a question to a busy one of several, behind whatever it is
 * busy with. It is made when it is used, and again where it was lost.
 */
export class Connection {
  private readonly options: ConnectionOptions
  private line: Line

  constructor(options: ConnectionOptions) {
    this.options = options
    this.line = open(options.url)
  }

  /**
   * Gives up where nothing at all was heard for so long: `heard` is to be called with every answer. A database that is away is
   * `StoreUnavailable`, whatever the driver says of it.
   */
  async use<T>(silenceMsMax: number, work: (sql: SQL, heard: () => void) => Promise<T>): Promise<T> {
    const { line } = this
    const { promise: silence, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      reject(new StoreUnavailable('the database does not answer'))
      this.replace()
    }, silenceMsMax)
    const ask = async () => {
      if (!line.isTold) await tell(line, this.options.settings)
      return work(line.sql, () => timer.refresh())
    }
    try {
      return await Promise.race([ask(), silence])
    } catch (error) {
      throw storeErrorOf(error)
    } finally {
      clearTimeout(timer)
    }
  }

  async close(): Promise<void> {
    await this.line.sql.close({ timeout: 0 })
  }

  /** What does not answer may never do so, and would be waited for for ever. The server ends what it was asked by itself. */
  private replace(): void {
    this.close().catch(() => {})
    this.line = open(this.options.url)
  }
}

function open(url: string): Line {
  const onclose = () => {
    line.isTold = false
  }
  const sql = new SQL({
    // Nothing is prepared under a name. The driver's names are the same in every connection: behind a pooler that is told to
    // pool transactions while we run, another one's statement would be executed with our values. It is about 50 µs for each.
    ...{ url, adapter: 'postgres', bigint: true, max: 1, prepare: false, onclose },
    ...{ connectionTimeout: CONNECT_SECONDS_MAX, connection: { application_name: 'duet' } },
  })
  const line: Line = { sql, isTold: false }
  return line
}

/** By itself, and not with the first word to the server: a pooler in between refuses most settings there. */
async function tell(line: Line, settings: Settings): Promise<void> {
  const told = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', false)`)
  if (told.length === 0) return
  // Who is lost just when it was told is another one afterwards, and knows nothing.
  while (!line.isTold) {
    line.isTold = true
    try {
      await line.sql.unsafe(`SELECT ${told}`)
    } catch (error) {
      line.isTold = false
      throw error
    }
  }
}
