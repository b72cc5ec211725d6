import { LEASE_MS } from '../../core/leases.ts'
import type { Store } from '../../core/store.ts'
import { portsOf } from '../ports.ts'
import { PostgresDatabase } from './database.ts'
import { PostgresLedger } from './ledger.ts'
import { migrate } from './migrate.ts'
import { requireOwnSessions } from './own-sessions.ts'
import { Partitions } from './partitions.ts'
import { PostgresReplicas } from './replicas.ts'

export interface PostgresStoreOptions {
  readonly url: string
  /** How many months of usage and entries are kept besides the current one; all, if it is not said. */
  readonly retentionMonths?: number | undefined
  /** How long the owner of a hold is believed to live without being heard of. */
  readonly leaseMs?: number | undefined
}

/** For what people look at, and what changes rarely. */
const CONNECTIONS = 4
/**
 * What people ask depends on whom they ask about: a plan that would do for any account reads all months of the largest one
 * for a page of it. To plan anew takes some milliseconds; to compile, more than the compiled gives back. Rows of one time
 * stand together, so an index is the better way to a month of a year. And who looks has one core, not all that money needs.
 */
const PEOPLE_SETTINGS = {
  ...{ plan_cache_mode: 'force_custom_plan', jit: 'off' },
  ...{ random_page_cost: 1.1, max_parallel_workers_per_gather: 0 },
}

/** For what is asked within a call: its name, its stored answer, the uses of its key. Each is one short question. */
const CALL_CONNECTIONS = 3

/** To find out who somebody is: so many keys as anybody may make up must not delay those who are known. */
const CALLER_CONNECTIONS = 2

/** A batch is one question, and the next one gathers meanwhile; another connection is for what could not wait. */
const LEDGER_CONNECTIONS = 2
/** Whoever waits for money waits no longer than this. */
const LEDGER_ANSWER_MS_MAX = 5_000
/**
 * The ledger goes to each of its rows by an index, and its statements are planned once: to plan them for each batch takes longer
 * than to execute them, and a plan that was made while a table (or that of a new month) was empty would read all of it later on.
 */
const LEDGER_SETTINGS = {
  ...{ enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off', jit: 'off' },
  plan_cache_mode: 'force_generic_plan',
}

const LISTENING = 1
/** What no other replica may do at the same time, such as to change the catalog: one after the other, in a connection of its own. */
const ALONE = 1

/** What a process has at most. */
export const REPLICA_CONNECTIONS =
  CONNECTIONS + CALL_CONNECTIONS + CALLER_CONNECTIONS + LEDGER_CONNECTIONS + LISTENING + ALONE

/** PostgreSQL, shared by any number of processes. */
export async function openPostgres({ url, retentionMonths, leaseMs = LEASE_MS }: PostgresStoreOptions): Promise<Store> {
  const db = new PostgresDatabase({ url, connections: CONNECTIONS, settings: PEOPLE_SETTINGS })
  const calls = new PostgresDatabase({ url, connections: CALL_CONNECTIONS })
  const callers = new PostgresDatabase({ url, connections: CALLER_CONNECTIONS })
  // Connections of its own: a slow question from the console must not delay money.
  const ledgerDb = new PostgresDatabase({
    ...{ url, connections: LEDGER_CONNECTIONS },
    ...{ answerMsMax: LEDGER_ANSWER_MS_MAX, settings: LEDGER_SETTINGS },
  })
  const close = async () => {
    await Promise.all([db, calls, callers, ledgerDb].map(one => one.close()))
  }
  const upkeep = new Partitions(db, { retentionMonths })
  try {
    await requireOwnSessions(url)
    await migrate(db)
    await upkeep.makeAhead()
  } catch (error) {
    await close()
    throw error
  }
  return {
    ...portsOf(db, { callers, calls }),
    ledger: new PostgresLedger(ledgerDb, { leaseMs }),
    replicas: owner => new PostgresReplicas(calls, { owner, leaseMs }),
    upkeep,
    close,
  }
}
