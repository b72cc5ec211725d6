import { asGatewayError, codeOf, type Failure, type GatewayError, messageOf } from '../core/failure.ts'
import type { Closing, Ending, Settled } from '../core/ledger.ts'
import { formatDollars } from '../core/money.ts'
import { withoutQuotations } from '../core/quotation.ts'
import { NO_USAGE } from '../core/usage.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Counted } from '../metering/count.ts'
import type { Bill } from '../protocol/protocol.ts'

export interface Charged extends Settled {
  readonly bill: Bill
}

/** What is known about a request before it is answered. */
export type Opening = Pick<Closing, 'requestId' | 'accountId' | 'keyId' | 'call' | 'price' | 'startedAt'>

/** How a request ended: in an answer, or in a failure. */
export type End = { readonly ending: Ending | undefined } | { readonly failure: GatewayError }

export interface Timings {
  readonly firstByteMs: number | undefined
  readonly durationMs: number
}

interface SettlementDeps {
  readonly ledger: Ledger
  readonly clock: () => number
  /** The caller's JSON. */
  readonly request: string
}

const NOTHING: Counted = { usage: NO_USAGE, source: 'estimated' }

/** The one exit of a held request: whoever sees its end first settles it, everyone after gets the same result. */
export class Settlement {
  private readonly opening: Opening
  private readonly ledger: Ledger
  private readonly clock: () => number
  private readonly request: string
  /** Resolves when the request is over, with the failure that ended it, if one did; never rejects. */
  readonly ended: Promise<GatewayError | undefined>
  private readonly end: (failure: GatewayError | undefined) => void
  private firstByteMs: number | undefined
  private isUnderWay = false
  private settled: Promise<Charged> | undefined

  constructor(opening: Opening, { ledger, clock, request }: SettlementDeps) {
    this.opening = opening
    this.ledger = ledger
    this.clock = clock
    this.request = request
    const { promise, resolve } = Promise.withResolvers<GatewayError | undefined>()
    this.ended = promise
    this.end = resolve
  }

  /** The answer has begun to come. */
  firstByte(): void {
    this.firstByteMs ??= this.elapsed()
  }

  /** The answer has begun to go out. */
  underWay(): void {
    this.isUnderWay = true
  }

  get timings(): Timings {
    return { firstByteMs: this.firstByteMs, durationMs: this.elapsed() }
  }

  /** Charges what was counted. */
  charge(counted: Counted, end: End): Promise<Charged> {
    if (!this.settled) {
      this.settled = this.settle(counted, end)
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

  private async settle(counted: Counted, end: End): Promise<Charged> {
    const closing: Closing = {
      ...this.opening,
      ...counted,
      status: 'failure' in end ? codeOf(end.failure.failure) : 'ok',
      error: 'failure' in end ? this.storedWords(end.failure.failure) : undefined,
      ending: 'ending' in end ? end.ending : undefined,
      firstByteMs: this.firstByteMs,
      durationMs: this.elapsed(),
    }
    try {
      const settled = await this.ledger.settle(closing)
      return { ...settled, bill: { usage: counted.usage, cost: formatDollars(settled.cost) } }
    } catch (error) {
      this.ledger.settleLater(this.undelivered(closing, asGatewayError(error)))
      throw error
    }
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
    return isVendors ? withoutQuotations(words, this.request) : words
  }

  private elapsed(): number {
    return this.clock() - this.opening.startedAt
  }
}
