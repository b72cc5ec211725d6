import type { SQL, TransactionSQL } from 'bun'
import type { Database, Dialect, Result, Statement, Value, Work } from '../database.ts'
import { alone } from './alone.ts'
import { Connection, type ConnectionOptions, type Settings } from './connection.ts'
import { isConflict } from './errors.ts'
import { Gate } from './gate.ts'

export interface PostgresOptions {
  readonly url: string
  readonly connections: number
  /** Milliseconds until a server that does not answer a question is given up, and until nobody waits for a connection. */
  readonly answerMsMax?: number
  /** What else the server is told for each connection. */
  readonly settings?: Settings
}

const ANSWER_MS_MAX = 10_000
/** Longer than it takes until somebody who has the turn and is gone has lost it. */
const TURN_MS_MAX = 30_000
const TRIES_MAX = 10

/** The server gives up a little sooner, so that as a rule it is the one to say why. */
const session = (answerMsMax: number) => ({
  // Where the ledger and everyone else begin, whatever else an operator has made of the database.
  default_transaction_isolation: 'read committed',
  statement_timeout: Math.floor(answerMsMax * 0.9),
  lock_timeout: Math.floor(answerMsMax * 0.8),
  idle_in_transaction_session_timeout: answerMsMax,
  // To compile a question takes longer than to answer any of ours.
  jit: 'off',
})

/** By way of text: a string that is bound to JSON would be wrapped in quotes by the driver. */
const LIST = 'jsonb_array_elements(CAST(CAST(? AS TEXT) AS JSONB))'

export const POSTGRES: Dialect = {
  name: 'postgres',
  list: LIST,
  among: column => `${column} IN (SELECT value #>> '{}' FROM ${LIST})`,
  usingIndex: () => '',
  locking: 'FOR NO KEY UPDATE',
  inserted: 'place',
}

type Asked = Pick<SQL, 'unsafe'>

/** PostgreSQL over some connections. A database that is away is `StoreUnavailable`, whatever the driver says of it. */
export class PostgresDatabase implements Database {
  readonly dialect = POSTGRES
  private readonly options: ConnectionOptions
  private readonly answerMsMax: number
  private readonly connections: readonly Connection[]
  private readonly gate: Gate<Connection>
  private readonly listening = new Set<Connection>()

  constructor({ url, connections, answerMsMax = ANSWER_MS_MAX, settings }: PostgresOptions) {
    this.options = { url, settings: { ...session(answerMsMax), ...settings } }
    this.answerMsMax = answerMsMax
    this.connections = Array.from({ length: connections }, () => new Connection(this.options))
    this.gate = new Gate(this.connections, answerMsMax)
  }

  async get<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    const { rows } = await this.ask({ sql, values })
    return rows[0] as Row | undefined
  }

  async all<Row>(sql: string, ...values: Value[]): Promise<readonly Row[]> {
    const { rows } = await this.ask({ sql, values })
    return rows as readonly Row[]
  }

  async run(sql: string, ...values: Value[]): Promise<number> {
    const { changes } = await this.ask({ sql, values })
    return changes
  }

  peek<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return this.get<Row>(sql, ...values)
  }

  transaction<T>(work: () => Work<T>): Promise<T> {
    return this.isolated('ISOLATION LEVEL SERIALIZABLE', work)
  }

  snapshot<T>(work: () => Work<T>): Promise<T> {
    return this.isolated('ISOLATION LEVEL REPEATABLE READ READ ONLY', work)
  }

  /**
   * All of it or nothing, where each statement sees what others have committed by then: for who takes locks, and has to wait
   * for them and for itself longer than a request could. Statements without values may be several in one.
   */
  patiently<T>(msMax: number, work: () => Work<T>): Promise<T> {
    const unlimited = function* (): Work<T> {
      yield {
        sql: `SET LOCAL statement_timeout = ${msMax}; SET LOCAL idle_in_transaction_session_timeout = 0`,
        values: [],
      }
      return yield* work()
    }
    return this.begin('ISOLATION LEVEL READ COMMITTED', unlimited, msMax)
  }

  /** Several statements without values, all of them or none. */
  async script(sql: string): Promise<void> {
    await this.gate.through(connection => connection.use(this.answerMsMax, asked => asked.begin(tx => tx.unsafe(sql))))
  }

  /**
   * Calls back for everything said on a channel, and each time that something may have been missed: after every connect. Over a
   * connection of its own; returns how to end it.
   */
  async listen(channel: string, heard: (payload: string) => void, connected: () => void): Promise<() => void> {
    // The driver listens over a connection that it makes for that: the one to be told something would be another.
    const connection = new Connection({ url: this.options.url, settings: {} })
    this.listening.add(connection)
    const end = () => {
      this.listening.delete(connection)
      connection.close().catch(() => {})
    }
    try {
      await connection.use(this.answerMsMax, asked => asked.listen(channel, heard, connected))
      return end
    } catch (error) {
      end()
      throw error
    }
  }

  /** No two do something of the same name at the same time. */
  alone<T>(name: string, work: () => Promise<T>, waitMsMax = TURN_MS_MAX): Promise<T> {
    return alone({ url: this.options.url, name, waitMsMax }, work)
  }

  async close(): Promise<void> {
    await Promise.all([...this.connections, ...this.listening].map(connection => connection.close()))
  }

  private ask(statement: Statement): Promise<Result> {
    return this.again(() =>
      this.gate.through(connection => connection.use(this.answerMsMax, asked => execute(asked, statement))),
    )
  }

  private isolated<T>(level: string, work: () => Work<T>): Promise<T> {
    return this.again(() => this.begin(level, work, this.answerMsMax))
  }

  /** The limit is for each statement: a long work is as healthy as a short one. */
  private begin<T>(level: string, work: () => Work<T>, answerMsMax: number): Promise<T> {
    return this.gate.through(connection =>
      connection.use(answerMsMax, (asked, heard) => asked.begin(level, tx => perform(tx, work(), heard))),
    )
  }

  /** Whoever was in somebody's way has done nothing, and begins again. */
  private async again<T>(attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt()
      } catch (error) {
        if (!isConflict(error) || tries === TRIES_MAX) throw error
        // Not all of those who were in each other's way at the same time again.
        await Bun.sleep(Math.random() * tries * 5)
      }
    }
  }
}

/** `heard` is called with every answer. */
export async function perform<T>(tx: TransactionSQL, work: Work<T>, heard = () => {}): Promise<T> {
  heard()
  let step = work.next()
  while (!step.done) {
    const result = await execute(tx, step.value)
    heard()
    step = work.next(result)
  }
  return step.value
}

export async function execute(asked: Asked, { sql, values }: Statement): Promise<Result> {
  const rows = await asked.unsafe(numbered(sql), values.map(bound))
  return { rows: [...rows], changes: rows.affectedRows ?? 0 }
}

/** Numbers go as text: the server knows what is expected in their place, and the driver would guess. */
const bound = (value: Value): string | Uint8Array | null => {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'string' ? storable(value) : value
}

/** Without what no text of this database may contain: the character 0, and halves of characters. */
export const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()

const numberedTexts = new Map<string, string>()

/** `?` is `$1`, `$2` and so on here. Statements are few, and each is written many times. */
function numbered(sql: string): string {
  const known = numberedTexts.get(sql)
  if (known !== undefined) return known
  let place = 0
  const text = sql.replaceAll('?', () => `$${++place}`)
  numberedTexts.set(sql, text)
  return text
}
