import type { JsonObject } from '../core/ask.ts'
import type { Caller } from '../core/directory.ts'
import { asGatewayError, codeOf, type Failure, messageOf, storable } from '../core/failure.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Protocol } from '../protocol/protocol.ts'
import type { Repeatable } from './named.ts'
import type { Call } from './serve.ts'

/** A request whose caller is known: what is worth writing down, however far it comes. */
export interface Inquiry {
  readonly call: Call
  readonly caller: Caller
  readonly protocol: Protocol
  /** Both empty until they were read. */
  bytes: Uint8Array
  body: JsonObject
  /** Set for a call that may be asked for again. */
  readonly repeatable?: Repeatable
}

export const NOTHING_READ = { bytes: new Uint8Array(), body: {} }

interface RefusalsDeps {
  readonly ledger: Ledger
  readonly clock: () => number
  /** Tells the operator what could not be written. */
  readonly report: (error: unknown) => void
}

/** Of one account: a program gone wild is written down in full for a while, but noise must not fill the disk. */
const REFUSALS_PER_HOUR_MAX = 1_000
const HOUR_MS = 3_600_000
const MODEL_CHARACTERS_MAX = 100

/**
 * Writes down who was turned away, and why: people look for the request id of the error they got. Nobody waits for it, and
 * a credential that nobody knows leaves no trace.
 */
export class Refusals {
  private readonly deps: RefusalsDeps
  private hour = 0
  private readonly ofThisHour = new Map<string, number>()

  constructor(deps: RefusalsDeps) {
    this.deps = deps
  }

  note({ call, caller, protocol, body }: Inquiry, error: unknown): void {
    const { failure } = asGatewayError(error)
    if (failure.kind === 'credential-invalid' || this.isNoise(caller.accountId)) return
    const { requestId, startedAt } = call
    const { accountId, keyId } = caller
    const refusal = {
      ...{ requestId, accountId, keyId, protocol: protocol.name, startedAt },
      durationMs: this.deps.clock() - startedAt,
      model: knownModel(failure, body),
      stream: body.stream === true,
      status: codeOf(failure),
      error: messageOf(failure),
    }
    this.deps.ledger.refuse(refusal).catch(this.deps.report)
  }

  private isNoise(accountId: string): boolean {
    const hour = Math.floor(this.deps.clock() / HOUR_MS)
    if (hour !== this.hour) this.ofThisHour.clear()
    this.hour = hour
    const count = (this.ofThisHour.get(accountId) ?? 0) + 1
    this.ofThisHour.set(accountId, count)
    return count > REFUSALS_PER_HOUR_MAX
  }
}

/** Sums are kept for each model: names that somebody made up, of which there is no end, stand in the message alone. */
function knownModel(failure: Failure, { model }: JsonObject): string {
  const isMadeUp = failure.kind === 'model-unknown' && !failure.isListed
  return isMadeUp || typeof model !== 'string' ? '' : storable(model, MODEL_CHARACTERS_MAX)
}
