import { StoreUnavailable } from '../../core/store.ts'
import { Connection } from './connection.ts'

export interface Turn {
  readonly url: string
  /** No two have a turn of the same name at the same time. */
  readonly name: string
  readonly waitMsMax: number
}

/** Whoever has the turn and is not heard of for so long has lost it: its machine may be gone for good. */
const SILENCE_MS_MAX = 15_000
const SIGN_MS = 3_000
/** For the server to say that it was in vain. */
const SPARE_MS = 2_000

const LOCK = 'SELECT pg_advisory_lock(hashtextextended($1, 0))'

/**
 * Fails where the turn does not come, and then nothing has begun; what has begun is not given up for the time it takes. Over a
 * connection of its own, so that many who wait do not take away those that the work is done over.
 */
export async function alone<T>({ url, name, waitMsMax }: Turn, work: () => Promise<T>): Promise<T> {
  const settings = { statement_timeout: 0, lock_timeout: waitMsMax, idle_session_timeout: SILENCE_MS_MAX }
  const connection = new Connection({ url, settings })
  const say = (sql: string, msMax: number, ...values: string[]) =>
    connection.use(msMax, async asked => void (await asked.unsafe(sql, values)))
  let signs: ReturnType<typeof setInterval> | undefined
  try {
    await say(LOCK, waitMsMax + SPARE_MS, name).catch(error => refuse(name, error))
    signs = setInterval(() => say('SELECT 1', SILENCE_MS_MAX).catch(() => {}), SIGN_MS)
    return await work()
  } finally {
    clearInterval(signs)
    await connection.close().catch(() => {})
  }
}

function refuse(name: string, cause: unknown): never {
  throw new StoreUnavailable(`it was never this one's turn with "${name}"`, { cause })
}
