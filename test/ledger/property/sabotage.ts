import type { AccountState, KeyState } from '../../../src/core/book.ts'
import type {
  Closing,
  Deposit,
  Hold,
  Lease,
  LedgerOperation,
  LedgerOutcome,
  LedgerStore,
} from '../../../src/core/ledger.ts'
import { nanos } from '../../../src/core/money.ts'
import type { PriceVersion } from '../../../src/core/price.ts'
import { NO_USAGE, type Usage } from '../../../src/core/usage.ts'
import type { PostgresDatabase } from '../../../src/store/postgres/database.ts'
import type { EmbeddedDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteLedger } from '../../../src/store/sqlite/ledger.ts'
import type { PromiseName } from './checks.ts'
import { CrashingDatabase } from './crashing-database.ts'
import { costOf, perMillion } from './model.ts'

/** A ledger that is broken on purpose. */
export interface Sabotage {
  /** Promises that it may be caught by, whichever comes to light first. */
  readonly breaks: readonly PromiseName[]
  readonly database?: typeof CrashingDatabase
  readonly store?: (db: EmbeddedDatabase) => LedgerStore
  /** On a server: what its functions do is written differently there. */
  readonly functions?: (db: PostgresDatabase) => Promise<void>
}

type Batch = readonly LedgerOperation[]

interface Meddling {
  /** Other operations; more of them may follow behind. */
  readonly before?: (batch: Batch) => Batch
  readonly after?: (batch: Batch, real: LedgerStore) => unknown
}

/** The real store, and something done to it before or after each batch. */
function meddle(db: EmbeddedDatabase, { before = batch => batch, after = () => {} }: Meddling): LedgerStore {
  const real = new SqliteLedger(db)
  return {
    async commit(batch) {
      const outcomes = await real.commit(before(batch))
      await after(batch, real)
      return outcomes.slice(0, batch.length)
    },
  }
}

const NOBODY: Lease = { owner: 'nobody', expiresAt: 0 }
/** More than anybody has. */
const LOAN = 1_000_000_000_000n

const closingsOf = (batch: Batch): Closing[] =>
  batch.flatMap(operation => (operation.type === 'settle' ? [operation.closing] : []))

const isHolds = (batch: Batch): boolean => batch.every(({ type }) => type === 'hold')

/** The same batch with other settlements. */
const resettle = (batch: Batch, change: (closing: Closing) => Closing): Batch =>
  batch.map(operation => {
    return operation.type === 'settle' ? { ...operation, closing: change(operation.closing) } : operation
  })

/** By the name that `DUET_BREAK` takes. */
export const SABOTAGES: Readonly<Record<string, Sabotage>> = {
  'answers-before-it-commits': {
    breaks: [3],
    database: class extends CrashingDatabase {
      private isOpen = false

      protected override together<T>(work: () => T): T {
        this.end('COMMIT')
        this.plainly('BEGIN')
        this.isOpen = true
        try {
          return work()
        } catch (error) {
          this.end('ROLLBACK')
          throw error
        }
      }

      private end(how: 'COMMIT' | 'ROLLBACK'): void {
        if (this.isOpen) this.plainly(how)
        this.isOpen = false
      }
    },
  },

  'starts-without-what-is-in-the-journal': {
    breaks: [1, 2, 3],
    store(db) {
      db.change('DELETE FROM journal')
      return new SqliteLedger(db)
    },
  },

  'commits-every-row-alone': {
    breaks: [1, 2, 3, 4, 5, 8, 'answers'],
    database: class extends CrashingDatabase {
      protected override together<T>(work: () => T): T {
        return work()
      }
    },
  },

  'charges-repeats-again': {
    breaks: [1, 2, 3, 4, 5],
    store(db) {
      const settled = new Set<string>()
      let repeats = 0
      return meddle(db, {
        before(batch) {
          const again = closingsOf(batch).filter(({ requestId }) => settled.has(requestId))
          for (const { requestId } of closingsOf(batch)) settled.add(requestId)
          return [...batch, ...again.flatMap(closing => chargeAs(`repeat ${++repeats}`, closing))]
        },
      })
    },
  },

  'keeps-the-hold-of-a-settled-request': {
    breaks: [2, 4, 'answers'],
    store: db =>
      meddle(db, {
        after(batch, real) {
          const settled = new Map(closingsOf(batch).map(closing => [closing.requestId, closing]))
          return real.commit([...settled].map(([requestId, closing]) => holdAs(requestId, closing)))
        },
      }),
  },

  'ignores-caps': {
    breaks: [2],
    store: db =>
      new (class extends SqliteLedger {
        private isHolding = false

        override commit(batch: Batch): Promise<readonly LedgerOutcome[]> {
          this.isHolding = isHolds(batch)
          return super.commit(batch)
        }

        override key(id: string): KeyState | undefined {
          const key = super.key(id)
          return key && this.isHolding ? { ...key, cap: undefined } : key
        }
      })(db),
  },

  'trusts-every-account': {
    breaks: [1, 2, 4],
    store(db) {
      const real = new SqliteLedger(db)
      const lend = (amount: bigint) => db.change('UPDATE accounts SET balance = balance + ?', amount)
      return {
        async commit(batch) {
          if (!isHolds(batch)) return real.commit(batch)
          lend(LOAN)
          return real.commit(batch).finally(() => lend(-LOAN))
        },
      }
    },
  },

  'decides-on-a-stale-balance': {
    breaks: [1, 2],
    store: db =>
      new (class extends SqliteLedger {
        private readonly before = new Map<string, AccountState>()

        override account(id: string): AccountState | undefined {
          const now = super.account(id)
          const stale = this.before.get(id)
          if (now) this.before.set(id, { ...now })
          return now && { ...now, balance: stale?.balance ?? now.balance, held: stale?.held ?? now.held }
        }
      })(db),
  },

  'refuses-too-early': {
    breaks: [2],
    store: db =>
      meddle(db, {
        before: batch =>
          batch.map(operation => {
            if (operation.type !== 'hold') return operation
            const { request } = operation
            return { ...operation, request: { ...request, least: request.most } }
          }),
      }),
  },

  'rounds-down': {
    breaks: [5],
    store: db =>
      meddle(db, {
        before: batch => resettle(batch, closing => ({ ...closing, price: evenPrice(closing.usage, closing.price) })),
      }),
  },

  'forgives-what-exceeds-the-hold': {
    breaks: [5],
    store(db) {
      const heldFor = (requestId: string) =>
        db.first<{ amount: bigint }>('SELECT amount FROM holds WHERE request_id = ?', requestId)?.amount ?? 0n
      const forgive = (closing: Closing) =>
        costOf(closing.usage, closing.price) > heldFor(closing.requestId) ? { ...closing, usage: NO_USAGE } : closing
      return meddle(db, { before: batch => resettle(batch, forgive) })
    },
  },

  'drops-records': {
    breaks: [8],
    store: db =>
      meddle(db, {
        after(batch) {
          for (const { requestId } of closingsOf(batch)) db.change('DELETE FROM usage WHERE request_id = ?', requestId)
        },
      }),
  },

  'refuses-without-a-record': {
    breaks: [8],
    store: db => meddle(db, { after: () => db.change('DELETE FROM usage WHERE price_id IS NULL') }),
  },

  'keeps-the-hold-of-a-refused-request': {
    breaks: [2, 4],
    store: db =>
      new (class extends SqliteLedger {
        private isRefusing = false

        override commit(batch: Batch): Promise<readonly LedgerOutcome[]> {
          this.isRefusing = batch.every(({ type }) => type === 'refuse')
          return super.commit(batch)
        }

        override hold(requestId: string): Hold | undefined {
          return this.isRefusing ? undefined : super.hold(requestId)
        }
      })(db),
  },

  'does-not-recover': {
    breaks: [3, 4],
    store: db =>
      meddle(db, {
        before: batch =>
          batch.map(operation => {
            return operation.type === 'recover' ? { type: 'renew', lease: NOBODY } : operation
          }),
      }),
  },

  'recovers-without-a-record': {
    breaks: [8],
    store: db => meddle(db, { after: () => db.change(`DELETE FROM usage WHERE status = 'interrupted'`) }),
  },

  'recovers-from-the-living': {
    breaks: [3, 4],
    store: db =>
      meddle(db, {
        before: batch =>
          batch.map(operation => {
            if (operation.type !== 'recover') return operation
            return { ...operation, survivors: { owner: 'nobody', underWay: new Set<string>() } }
          }),
      }),
  },

  'applies-a-deposit-twice': {
    breaks: [1, 3],
    store(db) {
      const applied = new Set<string>()
      const isKnown = ({ accountId, kind, source }: Deposit): boolean => {
        const name = `${accountId} ${kind} ${source}`
        return applied.has(name) || !applied.add(name)
      }
      return meddle(db, {
        before: batch =>
          batch.map(operation => {
            if (operation.type !== 'deposit' || !isKnown(operation.deposit)) return operation
            const { deposit } = operation
            return { ...operation, deposit: { ...deposit, source: `${deposit.source} again` } }
          }),
      })
    },
  },

  'forgets-what-a-key-spent': {
    breaks: [1],
    store: db =>
      meddle(db, { after: () => db.change('UPDATE keys SET spent = 0 WHERE spent > 0 AND cap IS NOT NULL') }),
  },

  'rewrites-history': {
    breaks: [8],
    store: db => {
      // Not before it has been looked at: only a verification from the first entry on can find it.
      const old = 'seq = 1 AND account_id IN (SELECT id FROM accounts WHERE entries > 5)'
      return meddle(db, { after: () => db.change(`UPDATE entries SET note = 'gift' WHERE ${old}`) })
    },
  },
}

/** The same charge once more, under another name. */
function chargeAs(requestId: string, closing: Closing): LedgerOperation[] {
  return [holdAs(requestId, closing), { type: 'settle', closing: { ...closing, requestId } }]
}

function holdAs(requestId: string, { accountId, keyId, call, startedAt }: Closing): LedgerOperation {
  const amount = nanos(1n)
  const request = { requestId, accountId, keyId, call, most: amount, least: amount, at: startedAt }
  return { type: 'hold', request, lease: NOBODY }
}

/** A price for output that takes just enough off to leave nothing to round up. */
function evenPrice(usage: Usage, price: PriceVersion): PriceVersion {
  const { input, cacheRead, cacheWrite, output } = usage
  if (output === 0) return price
  const lines = [
    BigInt(input) * price.input,
    BigInt(cacheRead) * price.cacheRead,
    BigInt(cacheWrite) * price.cacheWrite,
  ]
  const exact = lines.reduce((sum, line) => sum + line, BigInt(output) * price.output)
  const surplus = exact % 1_000_000n
  const less = (surplus + BigInt(output) - 1n) / BigInt(output)
  return less > price.output ? price : { ...price, output: perMillion(price.output - less) }
}
