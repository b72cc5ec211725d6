import { GatewayError } from '../core/failure.ts'
import type {
  Closing,
  Deposit,
  DepositOutcome,
  Extension,
  Held,
  HoldRequest,
  LedgerOperation,
  LedgerOutcome,
  LedgerStore,
  Refusal,
  Settled,
} from '../core/ledger.ts'
import { type Nanos, ZERO } from '../core/money.ts'
import { endOfTurn } from '../core/turns.ts'

interface Waiting {
  readonly operation: LedgerOperation
  readonly resolve: (outcome: LedgerOutcome) => void
  readonly reject: (reason: unknown) => void
}

export interface LedgerOptions {
  /** The name of this process among all that ever used the store. */
  readonly owner: string
  readonly clock: () => number
}

/** What a look after the ledger found. */
export interface Tended {
  /** Holds that nobody would have settled. */
  readonly recovered: number
  /** Settlements that still cannot be written. */
  readonly overdue: number
}

/** An owner that has not been heard of for this long is dead; it is heard of three times as often (`tend`). */
const LEASE_MS = 60_000
export const TEND_MS = LEASE_MS / 3

/**
 * Money, without HTTP and without SQL. Operations that arrive together are committed together: while one batch is
 * written the next one gathers, so a busy gateway pays for one commit where an idle one pays for one operation.
 */
export class Ledger {
  private readonly store: LedgerStore
  private readonly owner: string
  private readonly clock: () => number
  private waiting: Waiting[] = []
  private running: Promise<void> | undefined
  /** Requests that hold money. What is held for others is nobody's: a hold that was written and reported as failed. */
  private readonly underWay = new Set<string>()
  /** Settlements that could not be written. Bounded: a ledger that cannot write admits no new calls. */
  private overdue: Closing[] = []

  constructor(store: LedgerStore, { owner, clock }: LedgerOptions) {
    this.store = store
    this.owner = owner
    this.clock = clock
  }

  /** Calls that money is held for. */
  get holdsOpen(): number {
    return this.underWay.size
  }

  /** Takes the money before the upstream is called; throws the refusal that applies. */
  async hold(request: HoldRequest): Promise<Held> {
    const lease = { owner: this.owner, expiresAt: this.leaseEnd() }
    const { requestId } = request
    const isRepeat = this.underWay.has(requestId)
    // Before it is written: a recovery in between must not take it for a stray.
    this.underWay.add(requestId)
    let outcome: LedgerOutcome | undefined
    try {
      outcome = await this.submit({ type: 'hold', request, lease })
    } finally {
      if (outcome?.type !== 'held' && !isRepeat) this.underWay.delete(requestId)
    }
    switch (outcome.type) {
      case 'held':
        return outcome
      case 'balance-short':
        if (outcome.balance <= ZERO) throw new GatewayError({ kind: 'balance-empty', balance: outcome.balance })
        throw new GatewayError({ kind: 'balance-too-low', balance: outcome.available, needed: request.least })
      case 'cap-short':
        throw new GatewayError({ kind: 'cap-reached', remaining: outcome.remaining, needed: request.least })
      case 'key-unusable':
        throw new GatewayError({ kind: 'credential-invalid' })
      default:
        throw unexpected(outcome)
    }
  }

  /** Takes more for a call under way. Returns all that is held then, undefined if there is no more to take. */
  async extend(extension: Extension): Promise<Nanos | undefined> {
    const outcome = await this.submit({ type: 'extend', extension, expiresAt: this.leaseEnd() })
    return outcome.type === 'held' ? outcome.amount : undefined
  }

  /** Charges what was used and gives back the rest of the hold, exactly once for a request. */
  async settle(closing: Closing): Promise<Settled> {
    const outcome = await this.submit({ type: 'settle', closing })
    if (outcome.type !== 'settled') throw unexpected(outcome)
    this.underWay.delete(closing.requestId)
    return outcome.settled
  }

  /** For a settlement that failed: it is tried again until it is written. */
  settleLater(closing: Closing): void {
    this.overdue.push(closing)
  }

  /** Writes down that a request was turned away. Nobody waits for it. */
  async refuse(refusal: Refusal): Promise<void> {
    await this.submit({ type: 'refuse', refusal })
  }

  async deposit(deposit: Deposit): Promise<DepositOutcome> {
    const outcome = await this.submit({ type: 'deposit', deposit })
    switch (outcome.type) {
      case 'deposited':
      case 'no-account':
      case 'balance-too-large':
        return outcome
      default:
        throw unexpected(outcome)
    }
  }

  /** Releases what dead processes left held, and what no call of this one holds; returns how many holds there were. */
  async recover(): Promise<number> {
    const survivors = { owner: this.owner, underWay: this.underWay }
    const outcome = await this.submit({ type: 'recover', survivors, at: this.clock() })
    return outcome.type === 'released' ? outcome.holds : 0
  }

  /** To be called every `TEND_MS`: says that this owner lives, writes what is overdue, and recovers from the dead. */
  async tend(): Promise<Tended> {
    await this.submit({ type: 'renew', lease: { owner: this.owner, expiresAt: this.leaseEnd() } })
    const overdue = await this.writeOverdue()
    return { recovered: await this.recover(), overdue }
  }

  /** Resolves when everything that was submitted is committed; returns how many settlements cannot be. */
  async drain(): Promise<number> {
    while (this.running) await this.running
    return this.writeOverdue()
  }

  private leaseEnd(): number {
    return this.clock() + LEASE_MS
  }

  /** Returns how many remain. */
  private async writeOverdue(): Promise<number> {
    const due = this.overdue
    this.overdue = []
    await Promise.all(due.map(closing => this.settle(closing).catch(() => this.overdue.push(closing))))
    return this.overdue.length
  }

  private submit(operation: LedgerOperation): Promise<LedgerOutcome> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ operation, resolve, reject })
      this.running ??= this.run()
    })
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) {
      // An embedded store writes without giving way: without this, a hundred requests that arrive together would be a
      // hundred commits, one after the other.
      await endOfTurn()
      const batch = this.waiting
      this.waiting = []
      await this.commit(batch)
    }
    this.running = undefined
  }

  private async commit(batch: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.store.commit(batch.map(({ operation }) => operation))
      batch.forEach(({ resolve }, place) => {
        resolve(outcomes[place] as LedgerOutcome)
      })
    } catch (cause) {
      // One operation that cannot be written must not take its neighbours with it.
      const [only] = batch
      if (batch.length > 1) for (const waiting of batch) await this.commit([waiting])
      else only?.reject(new GatewayError({ kind: 'ledger-unavailable' }, cause))
    }
  }
}

const unexpected = ({ type }: LedgerOutcome): GatewayError =>
  new GatewayError({ kind: 'internal' }, new Error(`the ledger answered ${type}`))
