import { SQL } from 'bun'
import { StoreUnavailable } from '../../core/store.ts'
import { storeErrorOf } from './errors.ts'

export interface ConnectionOptions {
  readonly url: string
  /** What the server is told for it. */
  readonly settings: Readonly<Record<string, string | number>>
}

const CONNECT_SECONDS_MAX = 5

/** Where the ledger and everyone else begin, whatever else an operator has made of the database. */
const ALWAYS = { application_name: 'duet', default_transaction_isolation: 'read committed' }

/**
 * One connection, for one user at a time: the driver would hand a question to a busy one of several, behind whatever it is
 * busy with. It is made when it is used, and again where it was lost.
 */
export class Connection {
  private readonly options: ConnectionOptions
  private sql: SQL

  constructor(options: ConnectionOptions) {
    this.options = options
    this.sql = open(options)
  }

  /**
   * Gives up where nothing at all was heard for so long: `heard` is to be called with every answer. A database that is away is
   * `StoreUnavailable`, whatever the driver says of it.
   */
  async use<T>(silenceMsMax: number, work: (sql: SQL, heard: () => void) => Promise<T>): Promise<T> {
    const { sql } = this
    const { promise: silence, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      reject(new StoreUnavailable('the database does not answer'))
      this.replace()
    }, silenceMsMax)
    try {
      return await Promise.race([work(sql, () => timer.refresh()), silence])
    } catch (error) {
      throw storeErrorOf(error)
    } finally {
      clearTimeout(timer)
    }
  }

  async close(): Promise<void> {
    await this.sql.close({ timeout: 0 })
  }

  /** What does not answer may never do so, and would be waited for for ever. The server ends what it was asked by itself. */
  private replace(): void {
    this.close().catch(() => {})
    this.sql = open(this.options)
  }
}

const open = ({ url, settings }: ConnectionOptions): SQL =>
  new SQL({
    ...{ url, adapter: 'postgres', bigint: true, max: 1 },
    ...{ connectionTimeout: CONNECT_SECONDS_MAX, connection: { ...ALWAYS, ...settings } },
  })
