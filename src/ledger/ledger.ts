import { GatewayError } from '../core/failure.ts'
import { LEASE_MS } from '../core/leases.ts'
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
import { StoreBusy, StoreUnavailable } from '../core/store.ts'
import { endOfTurn } from '../core/turns.ts'
import { Detour } from './detour.ts'
import { Outage } from './outage.ts'
import { BATCH_OPERATIONS_MAX, type Waiting } from './waiting.ts'

interface UnderWay {
  readonly accountId: string
  /** A settlement was asked for, whatever came of it. */
  isEnding: boolean
}

export interface LedgerOptions {
  /** The name of this process among all that ever used the store. */
  readonly owner: string
  readonly clock: () => number
  /** How long whoever waits for a settlement is kept waiting for a store that is away. */
  readonly patienceMs?: number
  readonly watcher?: OutageWatcher
}

/** Told of what operators should know. */
export interface OutageWatcher {
  away(cause: unknown): void
  back(found: { readonly awayMs: number; readonly settlements: number }): void
}

/** What a look after the ledger found. */
export interface Tended {
  /** Holds that nobody would have settled. */
  readonly recovered: number
  /** Settlements that still cannot be written. */
  readonly overdue: number
}

/** The end of an answer waits for its settlement: not longer than people do who see nothing come. */
const PATIENCE_MS = 30_000

/** What a batch that took too long is cut into. */
const BATCH_PIECES = 4

/** A store that is too busy for everything for so long, and nobody can say why, is as good as away. */
const BUSY_MS_MAX = 2_000

/** How often a stop looks whether the store is back. */
const DRAIN_POLL_MS = 50

/**
 * Money, without HTTP and without SQL. Operations that arrive together are committed together: while one batch is
 * written the next one gathers, so a busy gateway pays for one commit where an idle one pays for one operation.
 *
 * While the store is away nothing is admitted, and what was used waits to be written. A connection that breaks leaves it open
 * whether something was written: whatever is sent again is done once, however often it comes. What is refused may have been
 * done all the same; a hold that was taken belongs to no call then, and is given back by the next look after the ledger.
 *
 * A store that is busy has done nothing. What is locked by somebody else waits apart from everything else.
 */
export class Ledger {
  private readonly store: LedgerStore
  private readonly owner: string
  private readonly clock: () => number
  private readonly patienceMs: number
  private readonly outage: Outage
  private readonly detour: Detour
  private batchMax = BATCH_OPERATIONS_MAX
  /** Since when nothing was done because the store is busy. */
  private busySince: number | undefined
  private waiting: Waiting[] = []
  private running: Promise<void> | undefined
  /** What waits for the store: while it is away settlements, and everything until that is certain. */
  private late: Waiting[] = []
  /** Requests that hold money. What is held for others is nobody's: a hold that was written and reported as failed. */
  private readonly underWay = new Map<string, UnderWay>()
  /** Settlements that could not be written. Bounded: a ledger that cannot write admits no new calls. */
  private overdue: Closing[] = []

  constructor(store: LedgerStore, options: LedgerOptions) {
    const { owner, clock, patienceMs = PATIENCE_MS, watcher } = options
    this.store = store
    this.owner = owner
    this.clock = clock
    this.patienceMs = patienceMs
    this.outage = new Outage({
      // The first that a store hears when it is back is that this owner lives: others must not take it for dead.
      probe: () => store.commit([this.renewal()]),
      confirmed: cause => watcher?.away(cause),
      lasts: () => this.dismissLate(),
      ended: awayMs => {
        if (awayMs !== undefined) watcher?.back({ awayMs, settlements: this.settlementsWaiting })
        this.writeLate()
      },
    })
    this.detour = new Detour({
      attempt: batch => this.attempt(batch),
      refuse: ({ reject }, cause) => reject(unavailable(cause)),
      patienceMs,
    })
  }

  /** False while the store is away. */
  get isAvailable(): boolean {
    return !this.outage.isCertain
  }

  /** Settlements that are not written because the store was away or busy, or failed. */
  get settlementsWaiting(): number {
    return this.late.length + this.overdue.length + this.detour.settlements
  }

  /** Calls that money is held for. */
  get holdsOpen(): number {
    return this.underWay.size
  }

  /** Takes the money before the upstream is called; throws the refusal that applies. */
  async hold(request: HoldRequest): Promise<Held> {
    const lease = { owner: this.owner, expiresAt: this.leaseEnd() }
    const { requestId, accountId } = request
    const isRepeat = this.underWay.has(requestId)
    // Before it is written: a recovery in between must not take it for a stray.
    if (!isRepeat) this.underWay.set(requestId, { accountId, isEnding: false })
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
    const { requestId } = extension
    const call = this.underWay.get(requestId)
    const outcome = await this.submit({ type: 'extend', extension, expiresAt: this.leaseEnd() })
    const goesOn = call && !call.isEnding && this.underWay.get(requestId) === call
    // Its hold was released by who took this process for dead: whether there is money for more, nobody can say.
    if (outcome.type === 'no-hold' && goesOn) throw unavailable()
    return outcome.type === 'held' ? outcome.amount : undefined
  }

  /** Charges what was used and gives back the rest of the hold, exactly once for a request. */
  async settle(closing: Closing): Promise<Settled> {
    return this.settleBy(this.submit({ type: 'settle', closing }, { isPatient: true }), closing)
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
    if (this.outage.isOn) return { recovered: 0, overdue: this.settlementsWaiting }
    await this.submit(this.renewal())
    const overdue = await this.writeOverdue()
    return { recovered: await this.recover(), overdue }
  }

  /**
   * Resolves when everything that was submitted is committed; returns how many settlements cannot be. A store that is away,
   * and an account that is locked, are waited for until it is too late.
   */
  async drain(tooLate: AbortSignal = AbortSignal.abort()): Promise<number> {
    for (;;) {
      while (this.running) await this.running
      await this.writeOverdue()
      // A store that has just come back is written to by itself. What cannot be written is not tried again and again.
      while (this.running) await this.running
      const isWaiting = this.outage.isOn || this.detour.settlements > 0
      if (!isWaiting || tooLate.aborted) return this.settlementsWaiting
      await Bun.sleep(DRAIN_POLL_MS)
    }
  }

  private leaseEnd(): number {
    return this.clock() + LEASE_MS
  }

  private renewal(): LedgerOperation {
    return { type: 'renew', lease: { owner: this.owner, expiresAt: this.leaseEnd() } }
  }

  /** Returns how many remain. */
  private async writeOverdue(): Promise<number> {
    if (this.outage.isOn) return this.overdue.length
    const due = this.overdue
    this.overdue = []
    const write = (closing: Closing) => this.settleBy(this.submit({ type: 'settle', closing }), closing)
    await Promise.all(due.map(closing => write(closing).catch(() => this.overdue.push(closing))))
    return this.overdue.length
  }

  private async settleBy(written: Promise<LedgerOutcome>, { requestId }: Closing): Promise<Settled> {
    const call = this.underWay.get(requestId)
    if (call) call.isEnding = true
    const outcome = await written
    if (outcome.type !== 'settled') throw unexpected(outcome)
    this.underWay.delete(requestId)
    return outcome.settled
  }

  private submit(operation: LedgerOperation, { isPatient } = { isPatient: false }): Promise<LedgerOutcome> {
    return new Promise((resolve, reject) => {
      const waiting = { operation, resolve, reject, isPatient, lateSince: undefined }
      if (this.outage.isOn) this.putOff(waiting)
      else this.queue(waiting)
    })
  }

  private queue(waiting: Waiting): void {
    if (this.isDiverted(waiting)) return
    this.waiting.push(waiting)
    this.running ??= this.run()
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) {
      // An embedded store writes without giving way: without this, a hundred requests that arrive together would be a
      // hundred commits, one after the other.
      await endOfTurn()
      const batch = this.waiting
      this.waiting = batch.splice(batchLength(batch, this.batchMax))
      await this.commit(batch)
    }
    this.running = undefined
  }

  private async commit(batch: readonly Waiting[]): Promise<void> {
    const busy = await this.attempt(batch)
    if (busy) {
      this.evade(batch, busy)
      return
    }
    this.busySince = undefined
    this.batchMax = Math.min(this.batchMax * 2, BATCH_OPERATIONS_MAX)
  }

  /** Returns why nothing has happened, if the store was too busy; whatever else becomes of it is told. */
  private async attempt(batch: readonly Waiting[]): Promise<StoreBusy | undefined> {
    if (this.outage.isOn) {
      for (const waiting of batch) this.putOff(waiting)
      return undefined
    }
    const askedAt = performance.now()
    try {
      const outcomes = await this.store.commit(batch.map(({ operation }) => operation))
      batch.forEach(({ resolve }, place) => {
        resolve(outcomes[place] as LedgerOutcome)
      })
    } catch (cause) {
      if (cause instanceof StoreBusy) return cause
      if (cause instanceof StoreUnavailable) this.lose(batch, cause, askedAt)
      else await this.isolate(batch, cause)
    }
    return undefined
  }

  /** One operation that cannot be written must not take its neighbours with it. */
  private async isolate(batch: readonly Waiting[], cause: unknown): Promise<void> {
    const [only] = batch
    if (batch.length > 1) for (const waiting of batch) await this.commit([waiting])
    else only?.reject(unavailable(cause))
  }

  // ── while the store is busy ───────────────────────────────────────────────────────────────────────────────────────

  /** What is locked goes apart, and all others at once; what took too long, in pieces. */
  private evade(batch: readonly Waiting[], busy: StoreBusy): void {
    const isLocked = (waiting: Waiting) => busy.accountIds.has(this.accountOf(waiting) ?? '')
    if (batch.some(isLocked)) {
      for (const waiting of batch.filter(isLocked)) this.detour.take(this.accountOf(waiting) ?? '', waiting)
      this.goBack(batch.filter(waiting => !isLocked(waiting)))
      return
    }
    this.busySince ??= performance.now()
    this.batchMax = Math.max(1, Math.floor(batch.length / BATCH_PIECES))
    const [only] = batch
    if (performance.now() - this.busySince > BUSY_MS_MAX) this.lose(batch, busy, this.busySince)
    else if (only && batch.length === 1) this.setApart(only, busy)
    else this.goBack(batch)
  }

  private setApart(waiting: Waiting, cause: StoreBusy): void {
    const accountId = this.accountOf(waiting)
    if (accountId === undefined) waiting.reject(unavailable(cause))
    else this.detour.take(accountId, waiting)
  }

  /** Before whoever came after it, and without what is locked by now. */
  private goBack(batch: readonly Waiting[]): void {
    for (const waiting of [...batch, ...this.waiting.splice(0)]) this.queue(waiting)
  }

  private isDiverted(waiting: Waiting): boolean {
    if (this.detour.isClosed) return false
    const accountId = this.accountOf(waiting)
    if (accountId === undefined || !this.detour.leadsTo(accountId)) return false
    this.detour.take(accountId, waiting)
    return true
  }

  private accountOf({ operation }: Waiting): string | undefined {
    switch (operation.type) {
      case 'hold':
        return operation.request.accountId
      case 'extend':
        return this.underWay.get(operation.extension.requestId)?.accountId
      case 'settle':
        return operation.closing.accountId
      case 'refuse':
        return operation.refusal.accountId
      case 'deposit':
        return operation.deposit.accountId
      case 'renew':
      case 'recover':
        return undefined
    }
  }

  // ── while the store is away ───────────────────────────────────────────────────────────────────────────────────────

  private lose(batch: readonly Waiting[], cause: StoreUnavailable, askedAt: number): void {
    this.outage.begin(cause, askedAt)
    // Whoever came meanwhile is not made to find out either.
    for (const waiting of [...batch, ...this.waiting.splice(0)]) this.putOff(waiting)
  }

  private putOff(waiting: Waiting): void {
    if (this.outage.isCertain && !waiting.isPatient) {
      waiting.reject(unavailable())
      return
    }
    waiting.lateSince ??= performance.now()
    this.late.push(waiting)
  }

  /** Whoever has waited long enough is told; a settlement is then up to `settleLater`. */
  private dismissLate(): void {
    const latest = performance.now() - this.patienceMs
    const isDue = ({ isPatient, lateSince = latest }: Waiting) => !isPatient || lateSince <= latest
    const dismissed = this.late.filter(isDue)
    this.late = this.late.filter(waiting => !isDue(waiting))
    for (const { reject } of dismissed) reject(unavailable())
  }

  private writeLate(): void {
    for (const waiting of this.late.splice(0)) this.queue(waiting)
    this.writeOverdue()
  }
}

/** A recovery is a batch by itself: it is more than one transaction where others have to be asked whether they live. */
function batchLength(waiting: readonly Waiting[], operationsMax: number): number {
  const recovery = waiting.findIndex(({ operation }) => operation.type === 'recover')
  if (recovery === 0) return 1
  return Math.min(recovery === -1 ? waiting.length : recovery, operationsMax)
}

const unavailable = (cause?: unknown): GatewayError => new GatewayError({ kind: 'ledger-unavailable' }, cause)

const unexpected = ({ type }: LedgerOutcome): GatewayError =>
  new GatewayError({ kind: 'internal' }, new Error(`the ledger answered ${type}`))
