import type { Price } from '../core/catalog.ts'
import { asGatewayError, type GatewayError, wireOf } from '../core/failure.ts'
import { formatDollars, type Nanos } from '../core/money.ts'
import type { Settled, UsageRecord } from '../core/ports.ts'
import { NO_USAGE } from '../core/usage.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Counted } from '../metering/count.ts'
import { cost } from '../metering/price.ts'
import type { Bill } from '../protocol/protocol.ts'

export interface Charged extends Settled {
  readonly bill: Bill
}

/** What is known about a request before it is answered. */
export type Opening = Pick<
  UsageRecord,
  'requestId' | 'accountId' | 'keyId' | 'model' | 'channel' | 'protocol' | 'upstreamProtocol' | 'stream' | 'startedAt'
> & { readonly held: Nanos; readonly price: Price }

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
  private settled: Promise<Charged> | undefined

  constructor(opening: Opening, { ledger, clock }: SettlementDeps) {
    this.opening = opening
    this.ledger = ledger
    this.clock = clock
    const { promise, resolve } = Promise.withResolvers<GatewayError | undefined>()
    this.ended = promise
    this.end = resolve
  }

  firstByte(): void {
    this.firstByteMs ??= this.elapsed()
  }

  /** Charges what was counted. */
  charge(counted: Counted, failure?: GatewayError): Promise<Charged> {
    if (!this.settled) {
      this.settled = this.settle(counted, failure ? wireOf(failure.failure).code : 'ok')
      this.settled.then(
        () => this.end(failure),
        error => this.end(asGatewayError(error)),
      )
    }
    return this.settled
  }

  /** Nothing was made, so nothing is paid. */
  release(failure: GatewayError): Promise<Charged> {
    return this.charge(NOTHING, failure)
  }

  private async settle({ usage, source }: Counted, status: string): Promise<Charged> {
    const { price, ...opening } = this.opening
    const amount = cost(usage, price)
    const times = { firstByteMs: this.firstByteMs, durationMs: this.elapsed() }
    const record: UsageRecord = { ...opening, ...times, status, usage, source, cost: amount }
    const settled = await this.ledger.settle(record)
    return { ...settled, bill: { usage, cost: formatDollars(amount) } }
  }

  private elapsed(): number {
    return this.clock() - this.opening.startedAt
  }
}
