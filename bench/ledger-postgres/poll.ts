import { SQL } from 'bun'
import { LEASE_MS, TEND_MS } from '../../src/core/leases.ts'
import type { LedgerOperation } from '../../src/core/ledger.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import type { PostgresServer } from '../../test/support/postgres.ts'
import { cpuSeconds } from '../machine/processes.ts'

const TIMES = 1_000
const OWNER = 'bench'

/** Microseconds of the database's processor time that one replica takes in a second by being there, without any requests. */
export async function pollCost(server: PostgresServer): Promise<number> {
  const url = await server.newDatabase()
  const store = await openPostgres({ url })
  const sql = new SQL(url, { max: 1 })
  const at = Date.now()
  const renew: LedgerOperation = { type: 'renew', lease: { owner: OWNER, expiresAt: at + LEASE_MS } }
  const recover: LedgerOperation = { type: 'recover', survivors: { owner: OWNER, underWay: new Set() }, at }
  const tend = async () => {
    await store.ledger.commit([renew])
    await store.ledger.commit([recover])
  }
  const cost =
    (await costOf(server, () => sql.unsafe('SELECT topic, version FROM changes'))) +
    ((await costOf(server, tend)) * 1_000) / TEND_MS
  await sql.close()
  await store.close()
  return cost
}

async function costOf(server: PostgresServer, ask: () => PromiseLike<unknown>): Promise<number> {
  for (let count = 0; count < TIMES / 10; count++) await ask()
  const before = cpuSeconds(server.pid)
  for (let count = 0; count < TIMES; count++) await ask()
  return ((cpuSeconds(server.pid) - before) * 1e6) / TIMES
}
