import type { Agenda } from './agenda.ts'
import { type Cores, Log, RowLocks } from './resources.ts'
import { type Costs, HELD, LEASE_MICROSECONDS } from './scenario.ts'

export interface Request {
  readonly id: number
  readonly account: number
  /** What it turns out to cost. */
  readonly cost: number
}

export type Operation =
  | { readonly type: 'hold' | 'settle'; readonly request: Request; readonly owner: number }
  /** The owner lives; and what dead ones left is released. */
  | { readonly type: 'tend'; readonly owner: number }

interface Hold {
  readonly request: Request
  readonly owner: number
}

export interface DatabaseOptions {
  readonly agenda: Agenda
  readonly cores: Cores
  readonly costs: Costs
  readonly accounts: number
  readonly balance: number
}

/** What the database has, and who waits for what in it. The rules of money are the ledger's, in small. */
export class Database {
  readonly balances: Float64Array
  readonly held: Float64Array
  readonly log: Log
  readonly locks: RowLocks
  readonly counts = { batches: 0, operations: 0, admitted: 0, refused: 0, settled: 0, interrupted: 0, charged: 0 }
  private readonly holds = new Map<number, Hold>()
  private readonly leases = new Map<number, number>()
  private readonly agenda: Agenda
  private readonly cores: Cores
  private readonly costs: Costs

  constructor({ agenda, cores, costs, accounts, balance }: DatabaseOptions) {
    this.agenda = agenda
    this.cores = cores
    this.costs = costs
    this.log = new Log(agenda, costs.flush)
    this.locks = new RowLocks(agenda)
    this.balances = new Float64Array(accounts).fill(balance)
    this.held = new Float64Array(accounts)
  }

  get holdsOpen(): number {
    return this.holds.size
  }

  /** Locks, work, flush: a row stays locked until what was written of it is on the disk. Tells what became of each. */
  commit(batch: readonly Operation[], done: (outcomes: readonly boolean[]) => void): void {
    const abandoned = batch.some(({ type }) => type === 'tend') ? this.abandoned() : []
    const accounts = accountsOf(batch, abandoned)
    this.locks.lockAll(accounts, () =>
      this.cores.use(this.workOf(batch.length, accounts.length), () => {
        const outcomes = batch.map(operation => this.apply(operation, abandoned))
        if (this.costs.databaseBeside > 0) this.cores.use(this.costs.databaseBeside, () => {})
        this.log.flush(() => {
          this.counts.batches++
          this.counts.operations += batch.length
          this.locks.unlockAll(accounts)
          done(outcomes)
        })
      }),
    )
  }

  private workOf(operations: number, accounts: number): number {
    const { databasePerBatch, databasePerOperation, databasePerAccount } = this.costs
    return databasePerBatch + databasePerOperation * operations + databasePerAccount * accounts
  }

  private apply(operation: Operation, abandoned: readonly Hold[]): boolean {
    switch (operation.type) {
      case 'hold':
        return this.hold(operation.request, operation.owner)
      case 'settle':
        return this.settle(operation.request)
      case 'tend':
        this.renew(operation.owner)
        for (const hold of abandoned) this.interrupt(hold)
        return true
    }
  }

  private hold(request: Request, owner: number): boolean {
    const { account } = request
    const isAdmitted = this.of(this.balances, account) - this.of(this.held, account) >= HELD
    if (!isAdmitted) {
      this.counts.refused++
      return false
    }
    this.counts.admitted++
    this.holds.set(request.id, { request, owner })
    if (!this.leases.has(owner)) this.renew(owner)
    this.add(this.held, account, HELD)
    return true
  }

  /** Without its hold it was settled or released before, and is not charged again. */
  private settle({ id, account, cost }: Request): boolean {
    if (!this.holds.delete(id)) return false
    this.counts.settled++
    this.counts.charged += cost
    this.add(this.held, account, -HELD)
    this.add(this.balances, account, -cost)
    return true
  }

  private interrupt({ request: { id, account } }: Hold): void {
    if (!this.holds.delete(id)) return
    this.counts.interrupted++
    this.add(this.held, account, -HELD)
  }

  private renew(owner: number): void {
    this.leases.set(owner, this.agenda.now + LEASE_MICROSECONDS)
  }

  /** Of owners whose lease is over. */
  private abandoned(): Hold[] {
    const dead = new Set([...this.leases].filter(([, endsAt]) => endsAt < this.agenda.now).map(([owner]) => owner))
    return dead.size === 0 ? [] : [...this.holds.values()].filter(({ owner }) => dead.has(owner))
  }

  private of(amounts: Float64Array, account: number): number {
    return amounts[account] as number
  }

  private add(amounts: Float64Array, account: number, amount: number): void {
    amounts[account] = this.of(amounts, account) + amount
  }
}

/** Each once, in their order. */
function accountsOf(batch: readonly Operation[], abandoned: readonly Hold[]): number[] {
  const touched = new Set<number>()
  for (const operation of batch) if (operation.type !== 'tend') touched.add(operation.request.account)
  for (const { request } of abandoned) touched.add(request.account)
  return [...touched].sort((a, b) => a - b)
}
