import type { Abort } from '../core/abort.ts'
import type { Ask } from '../core/ask.ts'
import type { Model } from '../core/catalog.ts'
import { type Failure, GatewayError } from '../core/failure.ts'
import type { Nanos } from '../core/money.ts'
import { countPrompt } from '../metering/count.ts'
import { asAnswerFailure } from '../protocol/answer.ts'
import type { EditedRequest } from '../protocol/protocol.ts'
import { type Excluded, NONE_EXCLUDED, type Route } from '../routing/choose.ts'
import { callChannel, concealer } from './channel.ts'
import { deliver } from './deliver.ts'
import type { Flight } from './flights.ts'
import type { Meter } from './meter.ts'
import { isCallers, isWorthAnotherTry } from './outcome.ts'
import { encode, type Prepared, prepare } from './prepare.ts'
import type { Limits } from './reserve.ts'
import type { Call, Reply } from './serve.ts'
import type { Settlement } from './settlement.ts'
import type { Tries } from './tries.ts'

/** A request that was let in: all it needs to be answered by one upstream or another. */
export interface Relay extends Limits {
  readonly call: Call
  /** As it was read, before an upstream was chosen. */
  readonly asked: Ask
  /** What the caller will pay at most; undefined for one who has set no ceiling. */
  readonly ceiling: Nanos | undefined
  readonly model: Model
  readonly tries: Tries
  /** For the first try. */
  readonly prepared: Prepared
  /** The answer says which channel it came from. */
  readonly showsChannel: boolean
  readonly settlement: Settlement
  readonly meter: Meter
  readonly flight: Flight
  readonly promptEstimate: number
  /** Where to go next; undefined where nobody is left. */
  nextRoute(excluded: Excluded): Route | undefined
}

/** Far more than anyone waits for; what is left is a catalog with a hundred broken channels. */
const TRIES_MAX = 8

/** A connection that was closed while it was kept breaks at once; whoever breaks it later may have worked on the request. */
const LOST_MS_MAX = 1_000

/**
 * Asks upstreams until one answers, and answers the caller. Before the first byte has left, a failure of one upstream is the
 * next one's chance; never after it. Whatever happens, the settlement has been told when this is over.
 */
export async function relay(request: Relay): Promise<Reply> {
  for (let attempt = begin(request, request.prepared); ; ) {
    try {
      return await answer(attempt)
    } catch (error) {
      const failure = concealed(attempt, error)
      attempt.abort.abort()
      request.tries.end(failure)
      const next = nextAttempt(attempt, failure)
      if (!next) throw await giveUp(attempt, failure)
      attempt = next
    }
  }
}

/** One try of one upstream. */
export interface Attempt {
  readonly request: Relay
  readonly prepared: Prepared
  readonly route: Route
  readonly abort: Abort
  readonly isAsked: boolean
}

function begin(request: Relay, prepared: Prepared): Attempt {
  const abort = request.flight.call()
  return { request, prepared, route: request.tries.route, abort, isAsked: !abort.isAborted }
}

async function answer(attempt: Attempt): Promise<Reply> {
  const { request, prepared, route, abort } = attempt
  const { call, tries, flight } = request
  const { ask } = prepared
  const edited = encoded(request, prepared, route)
  const body = edited.pieces ?? edited.body
  const upstream = await callChannel({ ...route, ask, headers: call.headers, body, abort })
  tries.heard()
  const reply = await deliver(attempt, upstream, edited.dropped)
  flight.answered()
  return reply
}

function encoded({ call, model, maxTokens }: Relay, { ask, pair }: Prepared, { channel }: Route): EditedRequest {
  return encode({ ask, pair, model, channel, maxTokens }, call.headers)
}

/** Records are read by people whose business it is no more than the caller's. */
function concealed({ request, route }: Attempt, error: unknown): GatewayError {
  const { failure, cause } = asAnswerFailure(error)
  return new GatewayError(concealer(request.model, route.channel)(failure), cause)
}

function nextAttempt({ request, prepared: last }: Attempt, { failure }: GatewayError): Attempt | undefined {
  const { tries, flight, nextRoute } = request
  if (!isWorthAnotherTry(failure) || flight.isCut || tries.count >= TRIES_MAX) return undefined
  for (let route = nextRoute(tries.excluded); route; route = nextRoute(tries.excluded)) {
    const prepared = preparedFor(request, route)
    if (prepared) {
      tries.begin(route)
      return begin(request, prepared)
    }
    tries.skip(route)
  }
  const again = mayHaveMissed(failure, tries) ? nextRoute(NONE_EXCLUDED) : undefined
  if (!again) return undefined
  tries.begin(again)
  return begin(request, last)
}

/** Undefined for a channel that cannot be given the request: that is no news for a caller whom somebody else has failed. */
function preparedFor(request: Relay, route: Route): Prepared | undefined {
  try {
    const prepared = prepare(request, route.channel)
    encoded(request, prepared, route)
    return prepared
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

/**
 * An upstream that closes a kept connection just when it is used again has not failed, and most likely has seen nothing of
 * the request. Where there is nobody else, it is asked once more; the record has both.
 */
function mayHaveMissed(failure: Failure, tries: Tries): boolean {
  const isLost = failure.kind === 'upstream-error' && failure.isLost === true
  return isLost && tries.count === 1 && tries.currentMs < LOST_MS_MAX
}

/** Whoever does not wait for an answer has had the prompt read for it; every other failure here produced nothing. */
async function giveUp({ request, isAsked }: Attempt, failure: GatewayError): Promise<GatewayError> {
  const { settlement, promptEstimate } = request
  if (isAsked && isCallers(failure.failure)) await settlement.charge(countPrompt(promptEstimate), { failure })
  else await settlement.release(failure)
  return failure
}
