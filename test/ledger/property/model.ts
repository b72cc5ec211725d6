import type { Closing, Deposit, Extension, HeldCall, HoldRequest, Refusal } from '../../../src/core/ledger.ts'
import type { NanosPerMillion } from '../../../src/core/money.ts'
import type { Price, PriceVersion } from '../../../src/core/price.ts'
import type { Usage } from '../../../src/core/usage.ts'
import {
  balanceEmpty,
  balanceTooLow,
  CREATED,
  capped,
  capReached,
  deposited,
  enabled,
  held,
  KEY_UNUSABLE,
  NO_ACCOUNT,
  NO_KEY,
  type Operation,
  published,
  RECORDED,
  RENEWED,
  REVOKED,
  released,
  settled,
  TOO_LARGE,
  UNAVAILABLE,
} from './operations.ts'

/*
 * What there should be: the promises as plain sums, one operation after another. Nothing in here is shared with the
 * ledger but the shapes of its questions.
 */

export interface ModelAccount {
  balance: bigint
  held: bigint
  spent: bigint
  entries: number
  /** Something other than an admission has brought balance below held: a settlement, an adjustment. */
  mayBeShort: boolean
}

export interface ModelKey {
  readonly accountId: string
  cap: bigint | undefined
  spent: bigint
  held: bigint
  isEnabled: boolean
  isRevoked: boolean
  /** Something other than an admission has brought the cap below what is spent and held. */
  mayBeShort: boolean
}

export interface ModelHold {
  readonly accountId: string
  readonly keyId: string
  readonly amount: bigint
  readonly owner: string
  /** When the owner was last heard of. */
  readonly heardAt: number
  readonly call: HeldCall
}

export interface ModelEntry {
  readonly accountId: string
  readonly seq: number
  readonly kind: string
  readonly amount: bigint
  readonly balance: bigint
  readonly source: string
  readonly charged: { readonly keyId: string; readonly usage: Usage; readonly priceId: number } | undefined
}

export interface ModelUsage {
  readonly requestId: string
  readonly accountId: string
  readonly keyId: string
  readonly status: string
  readonly usage: Usage
  /** Null for what was refused before it had a price. */
  readonly priceId: number | null
  readonly cost: bigint
  readonly held: bigint
}

const NOTHING: Usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
const TOKENS_PER_PRICE = 1_000_000n
/** A billion dollars. */
export const BALANCE_MAX = 1_000_000_000_000_000_000n

/** The one rounding, upwards. */
export function costOf(usage: Usage, price: Price): bigint {
  const exact =
    BigInt(usage.input) * price.input +
    BigInt(usage.cacheRead) * price.cacheRead +
    BigInt(usage.cacheWrite) * price.cacheWrite +
    BigInt(usage.output) * price.output
  const whole = exact / TOKENS_PER_PRICE
  return exact % TOKENS_PER_PRICE === 0n ? whole : whole + 1n
}

export class Model {
  owner = ''
  accounts = new Map<string, ModelAccount>()
  keys = new Map<string, ModelKey>()
  holds = new Map<string, ModelHold>()
  /** By model, oldest version first. */
  prices = new Map<string, readonly PriceVersion[]>()
  /** Holds that were written and reported as failed: the next recovery finds them. */
  strays = new Set<string>()
  /** Requests that have a usage record. */
  recorded = new Set<string>()
  /** What was held for those of them that were interrupted. */
  private interrupted = new Map<string, bigint>()
  private readonly chargesInterrupted: boolean
  private deposits = new Map<string, ModelEntry>()
  /** What was added since the last copy. */
  readonly newEntries: ModelEntry[] = []
  readonly newUsage: ModelUsage[] = []

  /** Whether an interrupted request is charged when its settlement comes after all. */
  constructor(chargesInterrupted: boolean) {
    this.chargesInterrupted = chargesInterrupted
  }

  copy(): Model {
    const copy = new Model(this.chargesInterrupted)
    copy.owner = this.owner
    for (const [id, account] of this.accounts) copy.accounts.set(id, { ...account })
    for (const [id, key] of this.keys) copy.keys.set(id, { ...key })
    copy.holds = new Map(this.holds)
    copy.prices = new Map(this.prices)
    copy.strays = new Set(this.strays)
    copy.recorded = new Set(this.recorded)
    copy.interrupted = new Map(this.interrupted)
    copy.deposits = new Map(this.deposits)
    return copy
  }

  priceOf(model: string): PriceVersion {
    return this.prices.get(model)?.at(-1) as PriceVersion
  }

  get priceVersions(): number {
    return [...this.prices.values()].reduce((sum, versions) => sum + versions.length, 0)
  }

  /** Neither revoked nor disabled. */
  isUsable(keyId: string): boolean {
    const key = this.keys.get(keyId)
    return key?.isEnabled === true && !key.isRevoked
  }

  /** What could be held for a key now. */
  left(keyId: string): { balance: bigint; available: bigint; remaining: bigint | undefined } {
    const key = this.keys.get(keyId) as ModelKey
    const account = this.accounts.get(key.accountId) as ModelAccount
    const remaining = key.cap === undefined ? undefined : key.cap - key.spent - key.held
    return { balance: account.balance, available: account.balance - account.held, remaining }
  }

  /** Returns the answer that is due. */
  apply(operation: Operation): string {
    switch (operation.type) {
      case 'hold':
        return this.hold(operation.request)
      case 'extend':
        return this.extend(operation.extension, operation.at)
      case 'settle':
        return this.settle(operation.closing)
      case 'refuse':
        return this.turnAway(operation.refusal)
      case 'deposit':
        return this.deposit(operation.deposit)
      case 'renew':
        for (const [id, hold] of this.holds) this.holds.set(id, { ...hold, heardAt: operation.at })
        return RENEWED
      case 'recover':
        return released(this.recover())
      case 'cap':
        return this.setCap(operation.keyId, operation.cap)
      case 'enable':
        return this.enable(operation.keyId, operation.enabled)
      case 'revoke':
        return this.revoke(operation.keyId)
      case 'key':
        this.addKey(operation.keyId, operation.accountId)
        return CREATED
      case 'publish':
        return this.publish(operation.model, operation.price, operation.at)
    }
  }

  addAccount(id: string): void {
    this.accounts.set(id, { balance: 0n, held: 0n, spent: 0n, entries: 0, mayBeShort: false })
  }

  addKey(id: string, accountId: string): void {
    const nothing = { cap: undefined, spent: 0n, held: 0n, mayBeShort: false }
    this.keys.set(id, { accountId, ...nothing, isEnabled: true, isRevoked: false })
  }

  publish(model: string, price: Price, since: number): string {
    const versions = this.prices.get(model) ?? []
    const latest = versions.at(-1)
    if (latest && isSame(latest, price)) return published(latest.id, latest.version)
    const { input, output, cacheRead, cacheWrite } = price
    const added = { id: this.priceVersions + 1, model, version: versions.length + 1, since }
    this.prices.set(model, [...versions, { ...added, input, output, cacheRead, cacheWrite }])
    return published(added.id, added.version)
  }

  // ── holds ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  private hold({ requestId, accountId, keyId, call, most, least, at }: HoldRequest): string {
    if (!this.accounts.has(accountId) || !this.keys.has(keyId)) return UNAVAILABLE
    if (!this.isUsable(keyId)) return KEY_UNUSABLE
    const refused = this.refuse(keyId, least)
    if (refused) return refused
    const amount = this.take(keyId, most)
    this.holds.set(requestId, { accountId, keyId, amount, owner: this.owner, heardAt: at, call })
    return held(amount)
  }

  private extend({ requestId, most, least }: Extension, at: number): string {
    const hold = this.holds.get(requestId)
    if (!hold || !this.isUsable(hold.keyId) || this.refuse(hold.keyId, least)) return held(undefined)
    const amount = hold.amount + this.take(hold.keyId, most)
    this.holds.set(requestId, { ...hold, amount, heardAt: at })
    return held(amount)
  }

  private refuse(keyId: string, least: bigint): string | undefined {
    const { balance, available, remaining } = this.left(keyId)
    if (balance <= 0n) return balanceEmpty(balance)
    if (available < least) return balanceTooLow(atLeastZero(available), least)
    if (remaining === undefined || (remaining > 0n && remaining >= least)) return undefined
    return capReached(atLeastZero(remaining), least)
  }

  private take(keyId: string, most: bigint): bigint {
    const { available, remaining } = this.left(keyId)
    let amount = most
    if (available < amount) amount = available
    if (remaining !== undefined && remaining < amount) amount = remaining
    this.move(keyId, amount)
    return amount
  }

  private release(requestId: string): ModelHold | undefined {
    const hold = this.holds.get(requestId)
    if (!hold) return undefined
    this.holds.delete(requestId)
    this.strays.delete(requestId)
    this.move(hold.keyId, -hold.amount)
    return hold
  }

  private move(keyId: string, amount: bigint): void {
    const key = this.keys.get(keyId) as ModelKey
    const account = this.accounts.get(key.accountId) as ModelAccount
    key.held += amount
    account.held += amount
  }

  private recover(): number {
    const left = [...this.holds].filter(([id, { owner }]) => owner !== this.owner || this.strays.has(id))
    for (const [requestId] of left) this.interrupt(requestId)
    return left.length
  }

  private interrupt(requestId: string): number {
    const hold = this.release(requestId)
    if (!hold) return 0
    const { accountId, keyId, call, amount } = hold
    this.excuse(keyId, accountId)
    this.record({
      ...{ requestId, accountId, keyId, status: 'interrupted', usage: NOTHING },
      ...{ priceId: call.priceId, cost: 0n, held: amount },
    })
    if (this.chargesInterrupted) this.interrupted.set(requestId, amount)
    return 1
  }

  /** A request that was not admitted, or was without hearing of it; none is recorded twice. */
  private turnAway({ requestId, accountId, keyId, status }: Refusal): string {
    if (this.recorded.has(requestId)) return RECORDED
    const hold = this.release(requestId)
    if (hold) this.excuse(keyId, accountId)
    const nothing = { usage: NOTHING, priceId: null, cost: 0n }
    this.record({ requestId, accountId, keyId, status, ...nothing, held: hold?.amount ?? 0n })
    return RECORDED
  }

  // ── entries ───────────────────────────────────────────────────────────────────────────────────────────────────────

  private settle({ requestId, accountId, keyId, call, usage, price, status }: Closing): string {
    const cost = costOf(usage, price)
    const held = this.release(requestId)?.amount ?? this.interrupted.get(requestId)
    const account = this.accounts.get(accountId) as ModelAccount
    const key = this.keys.get(keyId) as ModelKey
    if (held !== undefined) {
      this.interrupted.delete(requestId)
      this.record({ requestId, accountId, keyId, status, usage, priceId: call.priceId, cost, held })
      if (cost > 0n) {
        account.spent += cost
        key.spent += cost
        this.enter({
          accountId,
          kind: 'charge',
          amount: -cost,
          source: requestId,
          charged: { keyId, usage, priceId: price.id },
        })
      }
    }
    this.excuse(keyId, accountId)
    return settled(cost, account.balance, key.cap === undefined ? undefined : atLeastZero(key.cap - key.spent))
  }

  private deposit({ kind, accountId, amount, source }: Deposit): string {
    const name = `${accountId} ${kind} ${source}`
    const before = this.deposits.get(name)
    if (before) return deposited(false, before)
    const account = this.accounts.get(accountId)
    if (!account) return NO_ACCOUNT
    const after = account.balance + amount
    if (after > BALANCE_MAX || after < -BALANCE_MAX) return TOO_LARGE
    const entry = this.enter({ accountId, kind, amount, source, charged: undefined })
    this.deposits.set(name, entry)
    this.excuse(undefined, accountId)
    return deposited(true, entry)
  }

  private enter(entry: Omit<ModelEntry, 'seq' | 'balance'>): ModelEntry {
    const account = this.accounts.get(entry.accountId) as ModelAccount
    account.balance += entry.amount
    account.entries++
    const entered = { ...entry, seq: account.entries, balance: account.balance }
    this.newEntries.push(entered)
    return entered
  }

  private record(usage: ModelUsage): void {
    this.recorded.add(usage.requestId)
    this.newUsage.push(usage)
  }

  // ── keys ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  private setCap(keyId: string, cap: bigint | undefined): string {
    const key = this.keys.get(keyId)
    if (!key || key.isRevoked) return NO_KEY
    key.cap = cap
    this.excuse(keyId, key.accountId)
    return capped(cap)
  }

  private enable(keyId: string, isEnabled: boolean): string {
    const key = this.keys.get(keyId)
    if (!key || key.isRevoked) return NO_KEY
    key.isEnabled = isEnabled
    return enabled(isEnabled)
  }

  private revoke(keyId: string): string {
    const key = this.keys.get(keyId)
    if (!key || key.isRevoked) return NO_KEY
    key.isRevoked = true
    return REVOKED
  }

  /** After anything but an admission. */
  private excuse(keyId: string | undefined, accountId: string): void {
    const account = this.accounts.get(accountId) as ModelAccount
    const key = keyId === undefined ? undefined : this.keys.get(keyId)
    account.mayBeShort = account.balance < account.held
    if (key) key.mayBeShort = key.cap !== undefined && key.cap < key.spent + key.held
  }
}

const atLeastZero = (amount: bigint): bigint => (amount < 0n ? 0n : amount)

const isSame = (a: Price, b: Price): boolean =>
  a.input === b.input && a.output === b.output && a.cacheRead === b.cacheRead && a.cacheWrite === b.cacheWrite

export const perMillion = (amount: bigint): NanosPerMillion => amount as NanosPerMillion
