import { GatewayError } from '../core/failure.ts'
import { type Nanos, ZERO } from '../core/money.ts'
import type {
  HoldRequest,
  LedgerOperation,
  LedgerOutcome,
  LedgerStore,
  Settled,
  TopUp,
  TopUpOutcome,
  UsageRecord,
} from '../core/ports.ts'

interface Waiting {
  readonly operation: LedgerOperation
  readonly resolve: (outcome: LedgerOutcome) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Money, without HTTP and without SQL. Operations that arrive together are committed together: while one batch is
 * written the next one gathers, so a busy gateway pays for one commit where an idle one pays for one operation.
 */
export class Ledger {
  private readonly store: LedgerStore
  private waiting: Waiting[] = []
  private running: Promise<void> | undefined

  constructor(store: LedgerStore) {
    this.store = store
  }

  /** Takes the money before the upstream is called; throws the refusal that applies. Returns what is held. */
  async hold(request: HoldRequest): Promise<Nanos> {
    const outcome = await this.submit({ type: 'hold', request })
    switch (outcome.type) {
      case 'held':
        return outcome.amount
      case 'balance-short':
        if (outcome.balance <= ZERO) throw new GatewayError({ kind: 'balance-empty', balance: outcome.balance })
        throw new GatewayError({ kind: 'balance-too-low', balance: outcome.available, needed: request.least })
      case 'cap-short':
        throw new GatewayError({ kind: 'cap-reached', remaining: outcome.remaining, needed: request.least })
      default:
        throw new GatewayError({ kind: 'internal' })
    }
  }

  /** Charges what was used and gives back the rest of the hold, exactly once for a request. */
  async settle(record: UsageRecord): Promise<Settled> {
    const outcome = await this.submit({ type: 'settle', record })
    if (outcome.type !== 'settled') throw new GatewayError({ kind: 'internal' })
    return outcome.settled
  }

  /** Undefined if there is no such account. */
  async topUp(topUp: TopUp): Promise<TopUpOutcome | undefined> {
    const outcome = await this.submit({ type: 'top-up', topUp })
    if (outcome.type !== 'topped-up') throw new GatewayError({ kind: 'internal' })
    return outcome.outcome
  }

  /** Resolves when everything that was submitted is committed. */
  async drain(): Promise<void> {
    while (this.running) await this.running
  }

  private submit(operation: LedgerOperation): Promise<LedgerOutcome> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ operation, resolve, reject })
      this.running ??= this.run()
    })
  }

  private async run(): Promise<void> {
    await undefined
    while (this.waiting.length > 0) {
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
