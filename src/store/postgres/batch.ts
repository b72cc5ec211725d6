import { chainRest } from '../../core/chain.ts'
import type { Closing, Deposit, Entry, HeldCall, LedgerOperation, LedgerOutcome, Refusal } from '../../core/ledger.ts'
import { type Nanos, nanos } from '../../core/money.ts'
import { cost, NO_PRICE } from '../../core/price.ts'
import { NO_USAGE } from '../../core/usage.ts'
import type { Value } from '../database.ts'
import { storable } from './database.ts'

/** What a request does to its money, and what others put in: all that a batch consists of. */
export type MoneyOperation = Extract<
  LedgerOperation,
  { readonly type: 'hold' | 'extend' | 'settle' | 'refuse' | 'deposit' }
>

type Cell = string | number | null

/** A batch as `duet_commit_1` takes it (`migrations/002-ledger.ts` has the places of everything in an operation). */
export class Batch {
  private readonly accounts = new Places()
  private readonly keys = new Places()
  private readonly requests = new Places()
  private readonly extended: string[] = []
  private readonly ops: Cell[][] = []
  private readonly answers: Cell[][] = []
  /** When calls began that hold something: in these months a record of them could be. */
  private since: number | undefined
  private until: number | undefined

  constructor(operations: readonly MoneyOperation[]) {
    for (const operation of operations) this.ops.push(this.row(operation))
  }

  /** The first arguments, in their order. Answers are apart from the rest: each may have megabytes. */
  get values(): Value[] {
    const { accounts, keys, requests, extended, ops, since, until, answers } = this
    const lists = [accounts.ids, keys.ids, requests.ids, extended].map(listText)
    const kept = answers.length > 0 ? JSON.stringify(answers) : null
    return [...lists, JSON.stringify(ops), since ?? null, until ?? null, kept]
  }

  /** What `duet_locked_1` takes: all that others may have locked. */
  get touched(): Value[] {
    return [this.accounts.ids, this.keys.ids, this.extended].map(listText)
  }

  private row(operation: MoneyOperation): Cell[] {
    switch (operation.type) {
      case 'hold': {
        const { request, lease } = operation
        const { requestId, call, most, least, at } = request
        this.since = Math.min(at, this.since ?? at)
        this.until = Math.max(at, this.until ?? at)
        const [owner, until] = [lease.owner, lease.expiresAt]
        return ['hold', ...this.who(requestId, request), ...amounts(most, least), owner, until, ...callCells(call), at]
      }
      case 'extend': {
        const { requestId, most, least } = operation.extension
        this.extended.push(requestId)
        return ['extend', this.requests.of(requestId), null, null, ...amounts(most, least), null, operation.expiresAt]
      }
      case 'settle':
        return this.settlement(operation.closing)
      case 'refuse':
        return this.refusal(operation.refusal)
      case 'deposit': {
        const deposit = storableDeposit(operation.deposit)
        const { kind, accountId, amount, source, note, at } = deposit
        const rest = chainRest({ ...deposit, keyId: undefined, inputs: undefined })
        return [kind, null, this.accounts.of(accountId), null, ...amounts(amount), rest, at, source, note ?? null]
      }
    }
  }

  private settlement(closing: Closing): Cell[] {
    const { requestId, keyId, call, usage, price, startedAt, durationMs, answer } = closing
    const at = startedAt + durationMs
    const rest = chainRest({ source: requestId, keyId, note: undefined, at, inputs: { usage, price } })
    if (answer) {
      const { nameHash, fingerprint, headers, isStream, sealed, expiresAt } = answer
      const bytes = sealed ? Buffer.from(sealed).toString('base64') : null
      const place = this.ops.length
      // biome-ignore format: the columns in their order
      this.answers.push([
        place, answer.keyId, nameHash, fingerprint, answer.requestId, JSON.stringify(headers), isStream ? 1 : 0, bytes, expiresAt,
      ])
    }
    const who = this.who(requestId, closing)
    return [
      'settle',
      ...who,
      ...amounts(cost(usage, price)),
      rest,
      at,
      ...callCells(call),
      ...recordCells(closing),
      price.id,
    ]
  }

  private refusal(refusal: Refusal): Cell[] {
    const { requestId, model, protocol, stream } = refusal
    const call = { model, channel: '', protocol, upstreamProtocol: protocol, stream, priceId: NO_PRICE }
    const nothing = { ending: undefined, usage: NO_USAGE, source: 'estimated' as const, firstByteMs: undefined }
    const record = recordCells({ ...refusal, ...nothing })
    return ['refuse', ...this.who(requestId, refusal), ...amounts(nanos(0n)), null, null, ...callCells(call), ...record]
  }

  private who(requestId: string, { accountId, keyId }: Pick<Closing, 'accountId' | 'keyId'>): Cell[] {
    return [this.requests.of(requestId), this.accounts.of(accountId), this.keys.of(keyId)]
  }
}

/** Ids that occur, each once, and their places from 1. */
class Places {
  readonly ids: string[] = []
  private readonly places = new Map<string, number>()

  of(id: string): number {
    const known = this.places.get(id)
    if (known !== undefined) return known
    const place = this.ids.push(id)
    this.places.set(id, place)
    return place
  }
}

/** As the server reads it. */
const listText = (texts: readonly string[]): string =>
  `{${texts.map(text => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`

// ── cells ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** As digits: a number would not be exact. */
const amounts = (amount: Nanos, least?: Nanos): Cell[] => [String(amount), least === undefined ? null : String(least)]

const callCells = ({ model, channel, protocol, upstreamProtocol, stream, priceId }: HeldCall): Cell[] => [
  storable(model),
  channel,
  protocol,
  upstreamProtocol,
  stream ? 1 : 0,
  priceId,
]

type Recorded = Pick<
  Closing,
  'status' | 'error' | 'ending' | 'usage' | 'source' | 'startedAt' | 'firstByteMs' | 'durationMs'
> &
  Pick<Closing, 'attempts'>

// biome-ignore format: the columns in their order
const recordCells = ({ status, ending, usage, source, startedAt, firstByteMs, durationMs, error, attempts }: Recorded): Cell[] => [
  status, ending ?? null, usage.input, usage.cacheRead, usage.cacheWrite, usage.output, usage.reasoning, source,
  startedAt, firstByteMs ?? null, durationMs, error === undefined ? null : storable(error),
  attempts ? storable(JSON.stringify(attempts)) : null,
]

const storableDeposit = ({ source, note, ...deposit }: Deposit): Deposit => ({
  ...deposit,
  source: storable(source),
  note: note === undefined ? undefined : storable(note),
})

// ── outcomes ────────────────────────────────────────────────────────────────────────────────────────────────────────

const amountOf = (digits: string | undefined): Nanos => nanos(BigInt(digits ?? ''))

/** Reads what `duet_commit_1` answered to an operation. */
export function outcomeOf(operation: MoneyOperation, answer: string): LedgerOutcome {
  const [type, first, second, third = ''] = answer.split(' ')
  switch (type) {
    case 'held':
      return { type, amount: amountOf(first), available: amountOf(second) }
    case 'balance-short':
      return { type, balance: amountOf(first), available: amountOf(second) }
    case 'cap-short':
      return { type, remaining: amountOf(first) }
    case 'key-unusable':
    case 'no-hold':
    case 'recorded':
    case 'no-account':
    case 'balance-too-large':
      return { type }
    case 'settled': {
      if (operation.type !== 'settle') break
      const { usage, price } = operation.closing
      const keyRemaining = second === undefined ? undefined : amountOf(second)
      return { type, settled: { cost: cost(usage, price), balance: amountOf(first), keyRemaining } }
    }
    case 'deposited': {
      if (operation.type !== 'deposit') break
      const made = { seq: Number(first), balance: amountOf(second), hash: third }
      return { type, applied: true, entry: entryOf({ ...storableDeposit(operation.deposit), ...made }) }
    }
    case 'known': {
      if (operation.type !== 'deposit') break
      const known = knownEntry(answer.slice('known '.length))
      return { type: 'deposited', applied: false, entry: entryOf({ ...storableDeposit(operation.deposit), ...known }) }
    }
  }
  throw new Error(`the database answered ${type} to ${operation.type}`)
}

type Made = Pick<Entry, 'seq' | 'balance' | 'hash'>

function knownEntry(text: string): Made & Pick<Deposit, 'amount' | 'note' | 'at'> {
  const [seq, amount, balance, note, at, hash] = JSON.parse(text) as [
    number,
    string,
    string,
    string | null,
    number,
    string,
  ]
  return { seq, amount: amountOf(amount), balance: amountOf(balance), note: note ?? undefined, at, hash }
}

const entryOf = ({ accountId, seq, kind, amount, balance, source, note, at, hash }: Deposit & Made): Entry => ({
  ...{ accountId, seq, kind, amount, balance, source, keyId: undefined, note, at, inputs: undefined, hash },
})
