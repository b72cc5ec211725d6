import { SQL } from 'bun'
import { newDatabase } from '../support/databases.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { eventually } from '../support/wire.ts'

/** The same for all of them: what one seals, another opens. */
export const SECRET = 'secret-of-the-tests-that-seals-and-signs'

/** Several Duets on one database, as behind a load balancer. */
export interface Fleet {
  readonly database: string
  readonly replicas: readonly Duet[]
  /** Asks the database itself. */
  query<Row = Record<string, unknown>>(sql: string): Promise<readonly Row[]>
  stop(): Promise<void>
}

export interface FleetOptions {
  /** An empty one, if not one of the server that all tests share. */
  readonly database?: string
  readonly config?: string
  readonly env?: Readonly<Record<string, string>>
}

/** A database server, where the tests have none yet, and as many processes: for the hook that starts them. */
export const START_MS_MAX = 60_000

/** So many at the same time, on an empty database. */
export async function startFleet(count: number, options: FleetOptions = {}): Promise<Fleet> {
  const database = options.database ?? (await newDatabase())
  const replicas = await Promise.all(Array.from({ length: count }, () => joinFleet(database, options)))
  const sql = new SQL(database, { max: 1 })
  return {
    database,
    replicas,
    query: async text => [...(await sql.unsafe(text))],
    async stop() {
      await sql.close()
      await Promise.all(replicas.map(replica => replica.stop('SIGKILL')))
    },
  }
}

/** One more. */
export const joinFleet = (database: string, { config, env }: FleetOptions = {}): Promise<Duet> =>
  startDuet({
    ...(config === undefined ? {} : { config }),
    env: { DUET_DATABASE_URL: database, DUET_SECRET: SECRET, ...env },
  })

/** A replica that is there: lists of them are never asked for more than they have. */
export function one(replicas: readonly Duet[], place: number): Duet {
  const replica = replicas[place]
  if (!replica) throw new Error(`there are ${replicas.length} replicas`)
  return replica
}

/** A second is the promise; a busy machine has some more. What nobody tells would never be so. */
const SOON_MS = 3_000

/** Looks again and again; throws where it is not so soon. */
export async function soon<T>(look: () => Promise<T> | T, isSo: (seen: T) => boolean, msMax = SOON_MS): Promise<T> {
  const seen = await eventually(look, isSo, msMax)
  if (!isSo(seen)) throw new Error(`after ${msMax} ms it is still ${JSON.stringify(seen)}`)
  return seen
}
