import type { SQL } from 'bun'
import { Connection } from './connection.ts'

const ANSWER_MS_MAX = 10_000
/** A pooler that is busy may hand out the same process by chance, but hardly so often. */
const ROUNDS = 5

const REFUSAL =
  'a pooler in front of the database hands its connections from one transaction to the next, and Duet needs its own: ' +
  'connect to PostgreSQL directly, or let the pooler pool sessions (PgBouncer: pool_mode = session)'

type Asked = Pick<SQL, 'unsafe'>

/**
 * Throws where a connection is not with the same process of the server from its first word to its last. There, limits of time
 * and plans would be somebody else's, nothing would be heard, and a lock would stay with whoever comes next: two could be alone
 * with the same thing.
 */
export async function requireOwnSessions(url: string): Promise<void> {
  // Nothing is set: it would stay with others.
  const [one, other] = [new Connection({ url, settings: {} }), new Connection({ url, settings: {} })]
  try {
    const isShared = await one.use(ANSWER_MS_MAX, (ours, heardOurs) =>
      other.use(ANSWER_MS_MAX, (theirs, heardTheirs) =>
        areShared(ours, theirs, () => {
          heardOurs()
          heardTheirs()
        }),
      ),
    )
    if (isShared) throw new Error(REFUSAL)
  } finally {
    await Promise.all([one, other].map(connection => connection.close().catch(() => {})))
  }
}

/** Reserved: a connection that is lost meanwhile is an error, and not one with another process. */
async function areShared(ours: SQL, theirs: SQL, heard: () => void): Promise<boolean> {
  const session = await ours.reserve()
  try {
    const own = await processOf(session)
    const hasChanged = async () => (await processOf(session)) !== own
    for (let round = 0; round < ROUNDS; round++) {
      heard()
      // A pooler gives others the process that was used last, or us another one while they have it, or each in turn.
      const isTaken = theirs.begin(async tx => (await processOf(tx)) === own || (await hasChanged()))
      if ((await isTaken.catch(refusedTransaction)) || (await hasChanged())) return true
    }
    return false
  } finally {
    session.release()
  }
}

async function processOf(asked: Asked): Promise<number> {
  const [row] = (await asked.unsafe('SELECT pg_backend_pid() AS pid')) as { pid: number }[]
  return Number(row?.pid)
}

/** Where statements are pooled, there is no transaction at all. */
function refusedTransaction(error: unknown): true {
  if (String(error).includes('statement pooling')) return true
  throw error
}
