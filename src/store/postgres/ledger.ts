import { LEASE_MS } from '../../core/leases.ts'
import type { LedgerOperation, LedgerOutcome, LedgerStore, Survivors } from '../../core/ledger.ts'
import { StoreBusy } from '../../core/store.ts'
import { Batch, type MoneyOperation, outcomeOf } from './batch.ts'
import type { PostgresDatabase } from './database.ts'
import { isLocked } from './errors.ts'

export interface PostgresLedgerOptions {
  /** How long an owner of holds is believed to live without being heard of. */
  readonly leaseMs?: number
}

/** Holds of the dead that are released at once; the accounts of all of them are locked meanwhile. */
const RELEASED_MAX = 500

/**
 * Money on PostgreSQL: no state of its own that matters, so that there may be any number of it. The rules are beside the rows
 * (`migrations/002-ledger.ts`); a batch is one question.
 */
export class PostgresLedger implements LedgerStore {
  private readonly db: PostgresDatabase
  private readonly leaseMs: number
  /** When owners were last heard of through this ledger, by this machine's running time. */
  private readonly heardOf = new Map<string, number>()

  constructor(db: PostgresDatabase, { leaseMs = LEASE_MS }: PostgresLedgerOptions = {}) {
    this.db = db
    this.leaseMs = leaseMs
  }

  async commit(batch: readonly LedgerOperation[]): Promise<readonly LedgerOutcome[]> {
    const [first] = batch
    if (first?.type === 'recover' && batch.length === 1) {
      return [{ type: 'released', holds: await this.recover(first.survivors, first.at) }]
    }
    const money = batch.filter(isMoney)
    const renewal = batch.find(({ type }) => type === 'renew')
    const owner = renewal?.type === 'renew' ? renewal.lease.owner : this.silentOwner(money)
    const outcomes = money.length > 0 ? await this.commitMoney(money, owner) : []
    if (money.length === 0 && owner !== undefined) await this.renew(owner)
    const remaining = outcomes.values()
    return batch.map(({ type }) => (type === 'renew' ? { type: 'renewed' } : next(remaining)))
  }

  // ── money ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  private async commitMoney(
    operations: readonly MoneyOperation[],
    owner: string | undefined,
  ): Promise<LedgerOutcome[]> {
    const batch = new Batch(operations)
    const row = await this.db
      .get<{ outcomes: string }>(COMMIT, ...batch.values, owner ?? null, this.leaseMs)
      .catch(error => this.blame(batch, error))
    if (owner !== undefined) this.heard(owner)
    const answers = JSON.parse(row?.outcomes ?? '[]') as string[]
    return operations.map((operation, place) => outcomeOf(operation, answers[place] ?? ''))
  }

  /** Of many accounts, most are not to blame for a batch that had to wait for too long. */
  private async blame(batch: Batch, error: unknown): Promise<never> {
    if (!(error instanceof StoreBusy && isLocked(error))) throw error
    const rows = await this.db.all<{ id: string }>(LOCKED, ...batch.touched)
    throw new StoreBusy('accounts are locked', { cause: error, accountIds: rows.map(({ id }) => id) })
  }

  /** Who takes a hold is alive, and must be known to be before another one looks for the holds of the dead. */
  private silentOwner(operations: readonly MoneyOperation[]): string | undefined {
    const hold = operations.find(operation => operation.type === 'hold')
    if (!hold) return undefined
    const { owner } = hold.lease
    const last = this.heardOf.get(owner) ?? Number.NEGATIVE_INFINITY
    return performance.now() - last < this.leaseMs / 2 ? undefined : owner
  }

  // ── leases ────────────────────────────────────────────────────────────────────────────────────────────────────────

  private async renew(owner: string): Promise<void> {
    await this.db.get('SELECT duet_renew_1(?, ?)', owner, this.leaseMs)
    this.heard(owner)
  }

  private heard(owner: string): void {
    this.heardOf.set(owner, performance.now())
  }

  /**
   * Names the strays instead of the calls under way: what is executed late must not take for a stray what was held after it
   * was sent.
   */
  private async recover({ owner, underWay }: Survivors, at: number): Promise<number> {
    const own = await this.db.all<{ request_id: string }>('SELECT request_id FROM holds WHERE owner = ?', owner)
    const strays = own.map(row => row.request_id).filter(requestId => !underWay.has(requestId))
    let released = 0
    for (let last = RELEASED_MAX; last >= RELEASED_MAX || strays.length > 0; released += last) {
      last = await this.release({ owner, strays: strays.splice(0, RELEASED_MAX), at })
    }
    return released
  }

  private async release({ owner, strays, at }: Release): Promise<number> {
    const ask = (isWaiting: boolean) => {
      const values = [owner, JSON.stringify(strays), at, this.leaseMs, RELEASED_MAX, String(isWaiting)]
      return this.db.get<{ released: bigint }>(RECOVER, ...values)
    }
    const row = await ask(true).catch(error => {
      // One account that is locked for long must not keep the money of all others.
      if (error instanceof StoreBusy) return ask(false)
      throw error
    })
    return Number(row?.released ?? 0n)
  }
}

interface Release {
  readonly owner: string
  readonly strays: readonly string[]
  readonly at: number
}

// By way of text: lists and JSON are written here, and the driver would write them once more.
const LIST = 'CAST(CAST(? AS TEXT) AS TEXT[])'
const JSON_TEXT = 'CAST(CAST(? AS TEXT) AS JSONB)'

const COMMIT = `
  SELECT duet_commit_1(${LIST}, ${LIST}, ${LIST}, ${LIST}, ${JSON_TEXT}, ?, ?, ${JSON_TEXT}, ?, ?) AS outcomes`

const LOCKED = `SELECT duet_locked_1(${LIST}, ${LIST}, ${LIST}) AS id`

const RECOVER = `SELECT duet_recover_1(?, ${JSON_TEXT}, ?, ?, ?, CAST(CAST(? AS TEXT) AS BOOLEAN)) AS released`

function isMoney(operation: LedgerOperation): operation is MoneyOperation {
  // More than one transaction: not in a batch with others, which is one.
  if (operation.type === 'recover') throw new Error('a recovery is a batch by itself')
  return operation.type !== 'renew'
}

function next(outcomes: Iterator<LedgerOutcome>): LedgerOutcome {
  const { value, done } = outcomes.next()
  if (done) throw new Error('there are fewer outcomes than operations')
  return value
}
