import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { LedgerOperation, LedgerOutcome, LedgerStore } from '../../src/core/ledger.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { verify } from '../../src/ledger/verify.ts'
import type { Database } from '../../src/store/database.ts'
import { portsOf } from '../../src/store/ports.ts'
import { PostgresDatabase } from '../../src/store/postgres/database.ts'
import { PostgresLedger } from '../../src/store/postgres/ledger.ts'
import { migrate } from '../../src/store/postgres/migrate.ts'
import { EmbeddedDatabase } from '../../src/store/sqlite/database.ts'
import { SqliteLedger } from '../../src/store/sqlite/ledger.ts'
import { ACCOUNTS, FIRST_PRICE, Generator, MODELS } from '../ledger/property/generate.ts'
import { Model } from '../ledger/property/model.ts'
import { ask, newKey, type Operation, type Question, type Submission } from '../ledger/property/operations.ts'
import { randomOfEpoch } from '../ledger/property/random.ts'
import { newDatabase } from '../support/databases.ts'
import { newFolder } from '../support/duet.ts'

/*
 * The rules of money are written twice: in `core/book.ts`, and in the functions of the PostgreSQL store. Whatever is asked of
 * both, they must answer the same and leave the same rows behind, hashes included.
 * DUET_SEED=1234 repeats a run.
 */
const seed = Number(process.env.DUET_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0])
const STEPS = 700
const TIME_MS_MAX = 180_000

const TABLES = {
  accounts: 'SELECT id, balance, held, spent, entries, head FROM accounts ORDER BY id',
  keys: 'SELECT id, cap, spent, held, enabled, revoked_at FROM keys ORDER BY id',
  holds: `SELECT request_id, account_id, key_id, amount, owner, at, model, channel, protocol, upstream_protocol, stream, price_id
          FROM holds ORDER BY request_id`,
  entries: 'SELECT * FROM entries ORDER BY account_id, seq',
  usage: `SELECT request_id, account_id, key_id, model, channel, protocol, upstream_protocol, stream, status, ending, input,
                 cache_read, cache_write, output, reasoning, source, price_id, cost, held, started_at, first_byte_ms,
                 duration_ms, entry_seq, error, attempts
          FROM usage ORDER BY request_id`,
  usage_hours: 'SELECT * FROM usage_hours ORDER BY hour, account_id, key_id, model, channel, protocol, status',
  usage_days: 'SELECT * FROM usage_days ORDER BY day, account_id, key_id, model, channel, protocol, status',
} as const

type Side = ReturnType<typeof sideOf>

/** Batches as the ledger makes them are seen before they go in, and what comes out. */
class Watched implements LedgerStore {
  readonly seen: { readonly batch: readonly LedgerOperation[]; readonly outcomes: readonly LedgerOutcome[] }[] = []
  private readonly inner: LedgerStore

  constructor(inner: LedgerStore) {
    this.inner = inner
  }

  async commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    const outcomes = await this.inner.commit(batch)
    this.seen.push({ batch, outcomes })
    return outcomes
  }
}

let now = 1_750_000_000_000

function sideOf(db: Database, store: LedgerStore) {
  const watched = new Watched(store)
  return { db, watched, ...portsOf(db), ledger: new Ledger(watched, { owner: 'one', clock: () => now }) }
}

async function fill({ directory, prices }: Side): Promise<void> {
  for (const id of ACCOUNTS) {
    await directory.createAccount({ id, name: id, group: 'default', createdAt: 0 })
    await directory.createKey(newKey({ keyId: `${id}-1`, accountId: id, at: 0 }))
  }
  for (const model of MODELS) await prices.publish([{ model, price: FIRST_PRICE }], 0)
}

function startModel(): Model {
  const model = new Model(true)
  for (const id of ACCOUNTS) {
    model.addAccount(id)
    model.addKey(`${id}-1`, id)
  }
  for (const name of MODELS) model.publish(name, FIRST_PRICE, 0)
  return model
}

/** Keys that are changed beside a batch may be changed before or after it; alone there is only one way. */
const together = (submissions: readonly Submission[]): readonly Submission[] =>
  submissions.length === 1
    ? submissions
    : submissions.filter(({ question }) => question.type !== 'cap' && question.type !== 'enable')

const partsOf = (question: Question): Operation[] =>
  question.type === 'tend' ? [{ type: 'renew', at: question.at }, { type: 'recover' }] : [question]

test(
  'both stores answer the same to everything, and keep the same rows',
  async () => {
    console.log(`seed ${seed}`)
    const url = await newDatabase()
    const server = new PostgresDatabase({ url, connections: 3 })
    await migrate(server)
    const file = new EmbeddedDatabase({ path: join(newFolder(), 'same.db'), durability: 'process' })
    const sides = [sideOf(file, new SqliteLedger(file, 20)), sideOf(server, new PostgresLedger(server))] as const
    for (const side of sides) await fill(side)

    const model = startModel()
    const random = randomOfEpoch(seed, 0)
    const generator = new Generator(random)
    const perform = async (submissions: readonly Submission[]): Promise<void> => {
      const log: Operation[] = []
      const submit = async (side: Side, { question, next }: Submission): Promise<string[]> => {
        if (side === sides[0]) log.push(...partsOf(question))
        const answer = await ask(question, side)
        if (!next || (question.type === 'hold' && !answer.startsWith('held'))) return [answer]
        return [answer, ...(await submit(side, next))]
      }
      const [one, other] = await Promise.all(
        sides.map(side => Promise.all(submissions.map(submission => submit(side, submission)))),
      )
      expect(other).toEqual(one as string[][])
      for (const operation of log) model.apply(operation)
    }
    for (const question of generator.opening(model, now)) await perform([{ question }])
    for (let step = 0; step < STEPS; step++) {
      now += random.between(1, 5_000)
      await perform(together(generator.step(model, now).submissions))
    }

    const [embedded, shared] = sides
    expect(shared.watched.seen.flatMap(({ outcomes }) => outcomes)).toEqual(
      embedded.watched.seen.flatMap(({ outcomes }) => outcomes) as LedgerOutcome[],
    )
    for (const [table, sql] of Object.entries(TABLES)) {
      const rows = await file.all(sql)
      expect({ table, rows: await server.all(sql) }).toEqual({ table, rows })
      if (table !== 'holds') expect(rows.length).toBeGreaterThan(0)
    }
    const verified = await Promise.all(sides.map(({ audit }) => verify(audit)))
    expect(verified[0]?.problem).toBeUndefined()
    expect(verified[1]).toEqual(verified[0] as (typeof verified)[0])
    file.close()
    await server.close()
  },
  TIME_MS_MAX,
)
