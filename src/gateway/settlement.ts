import { asGatewayError, type GatewayError, wireOf } from '../core/failure.ts'
import type { Closing, Ending, Settled } from '../core/ledger.ts'
import { formatDollars } from '../core/money.ts'
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

interface SettlementDeps {
  readonly ledger: Ledger
  readonly clock: () => number
}

const NOTHING: Counted = { usage: NO_USAGE, source: 'estimated' }

/** The one exit of a held request: whoever sees its end first settles it, everyone after gets the same result. */
export class Settlement {
  private readonly opening: Opening
  private readonly ledger: Ledger
  private readonly clock: () => number
  /** Resolves when the request is over, with the failure that ended it, if one did; never rejects. */
  readonly ended: Promise<GatewayError | undefined>
  private readonly end: (failure: GatewayError | undefined) => void
  private firstByteMs: number | undefined
  private isUnderWay = false
  private settled: Promise<Charged> | undefined

  constructor(opening: Opening, { ledger, clock }: SettlementDeps) {
    this.opening = opening
    this.ledger = ledger
    this.clock = clock
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
      status: 'failure' in end ? wireOf(end.failure.failure).code : 'ok',
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
    const failed = { ...closing, status: wireOf(failure).code, ending: undefined }
    return this.isUnderWay ? failed : { ...failed, ...NOTHING }
  }

  private elapsed(): number {
    return this.clock() - this.opening.startedAt
  }
}
