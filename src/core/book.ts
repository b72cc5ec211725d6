import { admit } from './admission.ts'
import { chainHash } from './chain.ts'
import type {
  Closing,
  Deposit,
  DepositOutcome,
  Entry,
  Extension,
  Hold,
  HoldOutcome,
  HoldRequest,
  Lease,
  LedgerOperation,
  LedgerOutcome,
  NewRecord,
  Refusal,
  Settled,
  Survivors,
} from './ledger.ts'
import { atLeastZero, dollars, type Nanos, nanos, ZERO } from './money.ts'
import { cost, NO_PRICE } from './price.ts'
import { NO_USAGE } from './usage.ts'

/** A billion dollars, either way: sums stay far from the limits of a 64-bit column. */
const BALANCE_MAX = dollars(1_000_000_000)

/** An account while a batch works on it. */
export interface AccountState {
  readonly id: string
  balance: Nanos
  held: Nanos
  spent: Nanos
  /** How many entries there are, and the hash of the last one. */
  entries: number
  head: string
}

/** A key while a batch works on it. */
export interface KeyState {
  readonly id: string
  readonly cap: Nanos | undefined
  /** Not revoked, not disabled. It may have been when the caller was let in: bodies take their time to arrive. */
  readonly isUsable: boolean
  spent: Nanos
  held: Nanos
}

/** What a book reads of a store, as it was before the batch. */
export interface BookReader {
  account(id: string): AccountState | undefined
  key(id: string): KeyState | undefined
  hold(requestId: string): Hold | undefined
  /** Whether a request has its usage record. */
  isRecorded(requestId: string): boolean
  deposit(deposit: Deposit): Entry | undefined
  /** Holds of owners that are certainly dead, and those of this owner that belong to no call under way. */
  abandoned(survivors: Survivors): readonly Hold[]
}

/**
 * The rules of money, for one batch: what may be held, what is charged, what is given back. It reads what a batch
 * touches, decides in memory, and remembers what has changed; a store writes that down in the same transaction.
 */
export class Book {
  readonly accounts = new Map<string, AccountState>()
  readonly keys = new Map<string, KeyState>()
  readonly taken = new Map<string, Hold>()
  /** Holds that were there and have changed; undefined for those that are gone. */
  readonly changed = new Map<string, Hold | undefined>()
  readonly entries: Entry[] = []
  readonly records: NewRecord[] = []
  readonly renewals: Lease[] = []
  private readonly reader: BookReader

  constructor(reader: BookReader) {
    this.reader = reader
  }

  /** Refusals change nothing. */
  get hasChanges(): boolean {
    return this.taken.size > 0 || this.changed.size > 0 || this.records.length > 0 || this.entries.length > 0
  }

  apply(operation: LedgerOperation): LedgerOutcome {
    switch (operation.type) {
      case 'hold':
        return this.hold(operation.request, operation.lease)
      case 'extend':
        return this.extend(operation.extension, operation.expiresAt)
      case 'settle':
        return { type: 'settled', settled: this.settle(operation.closing) }
      case 'refuse':
        this.refuse(operation.refusal)
        return { type: 'recorded' }
      case 'deposit':
        return this.deposit(operation.deposit)
      case 'renew':
        this.renewals.push(operation.lease)
        return { type: 'renewed' }
      case 'recover':
        return { type: 'released', holds: this.recover(operation.survivors, operation.at) }
    }
  }

  // ── holds ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  private hold(request: HoldRequest, lease: Lease): HoldOutcome {
    const known = this.taken.get(request.requestId)
    if (known) return { type: 'held', amount: known.amount, available: known.amount }
    if (!this.key(request.keyId).isUsable) return { type: 'key-unusable' }
    const outcome = this.admit(request, request)
    if (outcome.type !== 'held') return outcome
    const { requestId, accountId, keyId, call, at } = request
    const { owner, expiresAt } = lease
    const hold = { requestId, accountId, keyId, call, at, owner, expiresAt, amount: outcome.amount }
    this.taken.set(requestId, hold)
    this.move(hold, outcome.amount)
    return outcome
  }

  private extend({ requestId, most, least }: Extension, expiresAt: number): HoldOutcome {
    const hold = this.findHold(requestId)
    if (!hold) return { type: 'no-hold' }
    // A call under way may use up what it holds, and no more.
    if (!this.key(hold.keyId).isUsable) return { type: 'key-unusable' }
    const outcome = this.admit(hold, { most, least })
    if (outcome.type !== 'held') return outcome
    const amount = nanos(hold.amount + outcome.amount)
    this.changed.set(requestId, { ...hold, amount, expiresAt })
    this.move(hold, outcome.amount)
    return { ...outcome, amount }
  }

  /** Balance and cap are looked at together, in the order in which requests came. */
  private admit(who: Pick<Hold, 'accountId' | 'keyId'>, wanted: Pick<HoldRequest, 'most' | 'least'>): HoldOutcome {
    return admit(this.account(who.accountId), this.key(who.keyId), wanted)
  }

  private release(hold: Hold): void {
    this.changed.set(hold.requestId, undefined)
    this.move(hold, nanos(-hold.amount))
  }

  private move({ accountId, keyId }: Hold, amount: Nanos): void {
    const account = this.account(accountId)
    const key = this.key(keyId)
    account.held = nanos(account.held + amount)
    key.held = nanos(key.held + amount)
  }

  /** No money moves, unless it was taken after all: a hold may be written and reported as failed. */
  private refuse({ model, protocol, stream, ...rest }: Refusal): void {
    if (this.isRecorded(rest.requestId)) return
    const stray = this.findHold(rest.requestId)
    if (stray) this.release(stray)
    const nowhere = { model, channel: '', protocol, upstreamProtocol: protocol, stream, priceId: NO_PRICE }
    const nothing = { ending: undefined, usage: NO_USAGE, source: 'estimated' as const, firstByteMs: undefined }
    const closing = { ...rest, ...nothing, call: nowhere }
    this.records.push({ closing, cost: ZERO, held: stray?.amount ?? ZERO, entrySeq: undefined })
  }

  private recover(survivors: Survivors, now: number): number {
    const found = this.reader.abandoned(survivors).map(({ requestId }) => this.findHold(requestId))
    const holds = found.filter(hold => hold !== undefined)
    for (const hold of holds) this.interrupt(hold, now)
    return holds.length
  }

  /** Nobody knows what became of the call, so nothing is charged, and the record says so. */
  private interrupt(hold: Hold, now: number): void {
    const { requestId, accountId, keyId, call, amount, at } = hold
    this.release(hold)
    const closing = {
      ...{ requestId, accountId, keyId, call, startedAt: at, firstByteMs: undefined, durationMs: now - at },
      ...{ status: 'interrupted', ending: undefined, usage: NO_USAGE, source: 'estimated' as const },
    }
    this.records.push({ closing, cost: ZERO, held: amount, entrySeq: undefined })
  }

  // ── entries ───────────────────────────────────────────────────────────────────────────────────────────────────────

  private settle(closing: Closing): Settled {
    const { requestId, accountId, keyId, usage, price } = closing
    const account = this.account(accountId)
    const key = this.key(keyId)
    const hold = this.findHold(requestId)
    const amount = cost(usage, price)
    // Without its hold the request was settled before: a repeat must not charge again.
    if (hold) {
      this.release(hold)
      const entrySeq = amount > ZERO ? this.charge(closing, amount).seq : undefined
      this.records.push({ closing, cost: amount, held: hold.amount, entrySeq })
    }
    const keyRemaining = key.cap === undefined ? undefined : atLeastZero(nanos(key.cap - key.spent))
    return { cost: amount, balance: account.balance, keyRemaining }
  }

  private charge({ requestId, accountId, keyId, usage, price, startedAt, durationMs }: Closing, amount: Nanos): Entry {
    const account = this.account(accountId)
    const key = this.key(keyId)
    account.spent = nanos(account.spent + amount)
    key.spent = nanos(key.spent + amount)
    const at = startedAt + durationMs
    const inputs = { usage, price }
    return this.enter({
      kind: 'charge',
      accountId,
      amount: nanos(-amount),
      source: requestId,
      keyId,
      note: undefined,
      at,
      inputs,
    })
  }

  private deposit(deposit: Deposit): DepositOutcome {
    const before = this.entries.find(entry => isSameSource(entry, deposit)) ?? this.reader.deposit(deposit)
    if (before) return { type: 'deposited', applied: false, entry: before }
    const account = this.findAccount(deposit.accountId)
    if (!account) return { type: 'no-account' }
    const after = account.balance + deposit.amount
    if (after > BALANCE_MAX || after < -BALANCE_MAX) return { type: 'balance-too-large' }
    return { type: 'deposited', applied: true, entry: this.enter({ ...deposit, keyId: undefined, inputs: undefined }) }
  }

  private enter(entry: Omit<Entry, 'seq' | 'balance' | 'hash'>): Entry {
    const { accountId, kind, amount, source, keyId, note, at, inputs } = entry
    const account = this.account(accountId)
    account.balance = nanos(account.balance + amount)
    account.entries++
    const [seq, balance] = [account.entries, account.balance]
    const numbered = { accountId, seq, kind, amount, balance, source, keyId, note, at, inputs, hash: '' }
    numbered.hash = chainHash(account.head, numbered)
    account.head = numbered.hash
    this.entries.push(numbered)
    return numbered
  }

  // ── what is touched ───────────────────────────────────────────────────────────────────────────────────────────────

  private findHold(requestId: string): Hold | undefined {
    if (this.changed.has(requestId)) return this.changed.get(requestId)
    return this.taken.get(requestId) ?? this.reader.hold(requestId)
  }

  private isRecorded(requestId: string): boolean {
    return this.records.some(({ closing }) => closing.requestId === requestId) || this.reader.isRecorded(requestId)
  }

  private findAccount(id: string): AccountState | undefined {
    const known = this.accounts.get(id) ?? this.reader.account(id)
    if (known) this.accounts.set(id, known)
    return known
  }

  private account(id: string): AccountState {
    const account = this.findAccount(id)
    if (!account) throw new Error(`there is no account ${id}`)
    return account
  }

  private key(id: string): KeyState {
    const key = this.keys.get(id) ?? this.reader.key(id)
    if (!key) throw new Error(`there is no key ${id}`)
    this.keys.set(id, key)
    return key
  }
}

const isSameSource = (entry: Entry, { accountId, kind, source }: Deposit): boolean =>
  entry.accountId === accountId && entry.kind === kind && entry.source === source
