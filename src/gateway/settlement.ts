import { asGatewayError, codeOf, type Failure, type GatewayError, messageOf } from '../core/failure.ts'
import type { Closing, Ending, Settled } from '../core/ledger.ts'
import { formatDollars } from '../core/money.ts'
import { cost } from '../core/price.ts'
import { withoutQuotations } from '../core/quotation.ts'
import type { StoredAnswer } from '../core/repeats.ts'
import type { Source } from '../core/source.ts'
import { NO_USAGE } from '../core/usage.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Counted } from '../metering/count.ts'
import type { Bill } from '../protocol/protocol.ts'
import type { Repeatable } from './named.ts'
import type { Tries } from './tries.ts'

export interface Charged extends Settled {
  readonly bill: Bill
  /** What waited for the bill, with the bill in it; empty for a failure. */
  readonly text: string
}

/** What is known about a request before it is answered. */
export type Opening = Pick<Closing, 'requestId' | 'accountId' | 'keyId' | 'call' | 'price' | 'startedAt'>

/** How a request ended: in an answer, or in a failure. */
export type End = Answered | { readonly failure: GatewayError }

interface Answered {
  readonly ending: Ending | undefined
  /**
   * Writes what the caller has not got yet: the last of a stream, or all of a whole answer. It leaves when it is paid for,
   * and must be known before: an answer that may be asked for again is stored with its charge.
   */
  readonly write: (bill: Bill) => string
}

interface SettlementDeps {
  readonly ledger: Ledger
  readonly clock: () => number
  readonly tries: Tries
  /** The caller's JSON. */
  readonly source: Source
  /** Set where the answer may be asked for again. */
  readonly repeatable?: Repeatable | undefined
}

const NOTHING: Counted = { usage: NO_USAGE, source: 'estimated' }

/** The one exit of a held request: whoever sees its end first settles it, everyone after gets the same result. */
export class Settlement {
  private readonly opening: Opening
  private readonly ledger: Ledger
  private readonly clock: () => number
  private readonly tries: Tries
  private readonly source: Source
  private readonly repeatable: Repeatable | undefined
  /** Resolves when the request is over, with the failure that ended it, if one did; never rejects. */
  readonly ended: Promise<GatewayError | undefined>
  private readonly end: (failure: GatewayError | undefined) => void
  private firstByteMs: number | undefined
  private headers: Readonly<Record<string, string>> = {}
  private isUnderWay = false
  private settled: Promise<Charged> | undefined

  constructor(opening: Opening, { ledger, clock, tries, source, repeatable }: SettlementDeps) {
    this.opening = opening
    this.ledger = ledger
    this.clock = clock
    this.tries = tries
    this.source = source
    this.repeatable = repeatable
    const { promise, resolve } = Promise.withResolvers<GatewayError | undefined>()
    this.ended = promise
    this.end = resolve
  }

  /** The answer has begun to come. */
  firstByte(): void {
    this.firstByteMs ??= this.elapsed()
    this.tries.firstByte()
  }

  /** What the answer will have said before its body. */
  present(headers: Readonly<Record<string, string>>): void {
    this.headers = headers
  }

  /** The answer has begun to go out. */
  underWay(): void {
    this.isUnderWay = true
  }

  /** Charges what was counted. */
  charge(counted: Counted, end: End): Promise<Charged> {
    if (!this.settled) {
      const bill = { usage: counted.usage, cost: formatDollars(cost(counted.usage, this.opening.price)) }
      // What cannot be written is not charged as written: whoever asked for it finds out before anything is settled.
      const text = 'write' in end ? end.write(bill) : ''
      this.settled = this.settle(counted, end, { bill, text })
      this.settled.then(
        () => this.end('failure' in end ? end.failure : undefined),
        error => this.end(asGatewayError(error)),
      )
    }
    return this.settled
  }

  /** Nothing was made, so nothing is paid. */
  release(failure: GatewayError): Promise<Charged> {
    return this.charge(NOTHING, { failure })
  }

  private async settle(counted: Counted, end: End, said: Pick<Charged, 'bill' | 'text'>): Promise<Charged> {
    const failure = 'failure' in end ? end.failure.failure : undefined
    const closing: Closing = {
      ...this.opening,
      ...counted,
      call: this.tries.placed(this.opening.call),
      status: failure ? codeOf(failure) : 'ok',
      error: failure && this.storedWords(failure),
      ending: 'ending' in end ? end.ending : undefined,
      firstByteMs: this.firstByteMs,
      durationMs: this.elapsed(),
      attempts: this.tries.attempts(failure, found => this.storedWords(found)),
    }
    try {
      const answer = this.repeatable && (await this.toStore(this.repeatable, failure, said.text))
      const settled = await this.ledger.settle(answer ? { ...closing, answer } : closing)
      return { ...settled, ...said }
    } catch (error) {
      // Without the answer: the caller is told of a failure, and whoever asks again gets a real second try.
      this.ledger.settleLater(this.undelivered(closing, asGatewayError(error)))
      throw error
    }
  }

  private async toStore(
    repeatable: Repeatable,
    failure: Failure | undefined,
    text: string,
  ): Promise<StoredAnswer | undefined> {
    if (failure) return repeatable.failed(failure)
    return repeatable.answered({ text, headers: this.headers, isStream: this.opening.call.stream })
  }

  /**
   * The end of an answer leaves only after its settlement, so an answer that could not be settled was not delivered: of a
   * stream under way, all but its end was; of every other answer, nothing.
   */
  private undelivered(closing: Closing, { failure }: GatewayError): Closing {
    if (closing.status !== 'ok') return closing
    const failed = { ...closing, status: codeOf(failure), error: messageOf(failure), ending: undefined }
    return this.isUnderWay ? failed : { ...failed, ...NOTHING }
  }

  /** In full, but for what a vendor quotes of the prompt. */
  private storedWords(failure: Failure): string {
    const words = messageOf(failure)
    const isVendors = failure.kind === 'upstream-invalid-request' || failure.kind === 'upstream-error'
    return isVendors ? withoutQuotations(words, this.source.text) : words
  }

  private elapsed(): number {
    return this.clock() - this.opening.startedAt
  }
}
