import type { Ask } from '../core/ask.ts'
import type { Model } from '../core/catalog.ts'
import { asGatewayError, type Failure, GatewayError } from '../core/failure.ts'
import type { Ending } from '../core/ledger.ts'
import { formatDollars, type Nanos } from '../core/money.ts'
import type { Seen } from '../core/seen.ts'
import { count, countPrompt } from '../metering/count.ts'
import { asAnswerFailure } from '../protocol/answer.ts'
import { droppedNames } from '../protocol/names.ts'
import type { AnswerStream, EditedRequest, Target, View } from '../protocol/protocol.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import type { Route } from '../routing/choose.ts'
import type { UpstreamReply } from '../upstream/client.ts'
import { callChannel, concealer, targetOf } from './channel.ts'
import type { Flight } from './flights.ts'
import { FoldedStream } from './fold.ts'
import type { Meter } from './meter.ts'
import { isWorthAnotherTry } from './outcome.ts'
import type { Pair } from './pair.ts'
import { type Prepared, prepare } from './prepare.ts'
import type { Limits } from './reserve.ts'
import type { Call, Reply } from './serve.ts'
import type { Charged, Settlement } from './settlement.ts'
import type { Tries } from './tries.ts'
import { viewOf } from './view.ts'
import { WatchedStream } from './watch.ts'

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
  /** Where to go after a failure; undefined where nobody is left. */
  nextRoute(): Route | undefined
}

/** Far more than anyone waits for; what is left is a catalog with a hundred broken channels. */
const TRIES_MAX = 8

/**
 * Asks upstreams until one answers, and answers the caller. Before the first byte has left, a failure of one upstream is the
 * next one's chance; never after it. Whatever happens, the settlement has been told when this is over.
 */
export async function relay(relay: Relay): Promise<Reply> {
  for (let attempt = begin(relay, relay.prepared); ; ) {
    try {
      return await answer(attempt)
    } catch (error) {
      const failure = concealed(attempt, error)
      attempt.abort.abort()
      relay.tries.end(failure)
      const next = nextAttempt(attempt, failure)
      if (!next) throw await giveUp(attempt, failure)
      attempt = next
    }
  }
}

/** One try of one upstream. */
export interface Attempt extends Relay, Prepared, Route {
  readonly abort: AbortController
  readonly isAsked: boolean
}

function begin(relay: Relay, prepared: Prepared): Attempt {
  const abort = relay.flight.call()
  return { ...relay, ...prepared, ...relay.tries.route, abort, isAsked: !abort.signal.aborted }
}

async function answer(attempt: Attempt): Promise<Reply> {
  const { call, channel, key, ask, abort, flight, settlement } = attempt
  const { body, dropped } = encode(attempt)
  const upstream = await callChannel({ channel, key, ask, headers: call.headers, body, abort })
  const headers = replyHeaders(attempt, dropped)
  settlement.present(headers)
  const reply = await wayOf(attempt)(attempt, upstream, headers)
  flight.answered()
  return reply
}

type Way = (attempt: Attempt, upstream: UpstreamReply, headers: Record<string, string>) => Promise<Reply>

function wayOf({ ask, ceiling }: Attempt): Way {
  if (ask.stream) return streamed
  return ceiling === undefined ? whole : folded
}

/** Records are read by people whose business it is no more than the caller's. */
function concealed({ model, channel }: Attempt, error: unknown): GatewayError {
  const { failure, cause } = asAnswerFailure(error)
  return new GatewayError(concealer(model, channel)(failure), cause)
}

function nextAttempt(last: Attempt, { failure }: GatewayError): Attempt | undefined {
  const { tries, nextRoute } = last
  if (!isWorthAnotherTry(failure) || tries.count >= TRIES_MAX) return undefined
  for (let route = nextRoute(); route; route = nextRoute()) {
    const prepared = preparedFor(last, route)
    if (prepared) {
      tries.begin(route)
      return begin(last, prepared)
    }
    tries.excluded.channels.add(route.channel.name)
  }
  if (!mayHaveMissed(failure) || tries.count > 1) return undefined
  tries.begin(tries.route)
  return begin(last, last)
}

/** Undefined for a channel that cannot be given the request: that is no news for a caller whom somebody else has failed. */
function preparedFor(last: Attempt, { channel }: Route): Prepared | undefined {
  try {
    const prepared = prepare(last, channel)
    encode({ ...last, ...prepared, channel })
    return prepared
  } catch {
    return undefined
  }
}

/**
 * An upstream that closes a kept connection just when it is used again has not failed, and most likely has seen nothing of
 * the request. Where there is nobody else, it is asked once more; the record has both.
 */
const mayHaveMissed = (failure: Failure): boolean => failure.kind === 'upstream-error' && failure.isLost === true

/** A caller who leaves has had the prompt read for it; every other failure here produced nothing. */
async function giveUp(attempt: Attempt, failure: GatewayError): Promise<GatewayError> {
  const { call, settlement, isAsked, promptEstimate } = attempt
  if (isAsked && call.signal.aborted) await settlement.charge(countPrompt(promptEstimate), { failure })
  else await settlement.release(failure)
  return failure
}

function encode(attempt: Attempt): EditedRequest {
  const request = encodeFor(attempt)
  if (request.dropped.length > 0 && isStrict(attempt.call.headers)) {
    throw new GatewayError({ kind: 'translation-lossy', dropped: request.dropped })
  }
  return request
}

/** What the upstream is sent, and what of the request it cannot be given. */
export function encodeFor(parts: Pick<Attempt, 'ask' | 'model' | 'channel' | 'pair' | 'maxTokens'>): EditedRequest {
  const { ask, model, channel, pair, maxTokens } = parts
  const { body, dropped } = requestTo(targetOf(model, channel, maxTokens), pair)
  return { body, dropped: droppedNames(ask.droppedImages ? ['image', ...dropped] : dropped) }
}

const isStrict = (headers: Headers): boolean => /^(true|1)$/i.test(headers.get('x-duet-strict')?.trim() ?? '')

/** What goes wrong here is wrong with the request, not with an answer. */
function requestTo(target: Target, pair: Pair): EditedRequest {
  try {
    return pair.request(target)
  } catch (error) {
    throw asGatewayError(error)
  }
}

function replyHeaders({ channel, showsChannel }: Attempt, dropped: readonly string[]): Record<string, string> {
  return {
    ...channel.replyHeaders,
    ...(showsChannel ? { 'x-duet-channel': channel.name } : {}),
    ...(dropped.length > 0 ? { 'x-duet-dropped': dropped.join(',') } : {}),
  }
}

async function whole(attempt: Attempt, upstream: UpstreamReply, headers: Record<string, string>): Promise<Reply> {
  const { pair, settlement, meter, promptEstimate } = attempt
  const answer = pair.body(await upstream.text(), viewFor(attempt))
  settlement.firstByte()
  const { counted, ending } = meter.conclude(count(answer.seen, promptEstimate), endingOf(answer.seen, attempt))
  const charged = await settlement.charge(counted, { ending, write: bill => answer.render(bill) })
  return { headers: { ...headers, ...moneyHeaders(charged) }, body: charged.text }
}

/** An answer that reached a limit which only the money, or a ceiling, had set ended for want of that. */
function endingOf({ reason }: Seen, { shortage }: Pick<Limits, 'shortage'>): Ending | undefined {
  return reason === 'length' ? (shortage ?? reason) : reason
}

function moneyHeaders({ bill, balance, keyRemaining }: Charged): Record<string, string> {
  return {
    'x-duet-cost': bill.cost,
    'x-duet-balance': formatDollars(balance),
    ...(keyRemaining === undefined ? {} : { 'x-duet-key-remaining': formatDollars(keyRemaining) }),
  }
}

/** A whole answer with a ceiling: what makes it is stopped there, if need be. */
async function folded(attempt: Attempt, upstream: UpstreamReply, headers: Record<string, string>): Promise<Reply> {
  const { ask, pair } = attempt
  if (!(await upstream.isStream())) return whole(attempt, upstream, headers)
  const stream = pair.stream({ ...viewFor(attempt), includeUsage: true })
  const answer = new FoldedStream(stream, PROTOCOLS[ask.protocol].foldStream())
  const charged = await watch(attempt, upstream, answer).whole()
  return { headers: { ...headers, ...moneyHeaders(charged) }, body: charged.text }
}

async function streamed(attempt: Attempt, upstream: UpstreamReply, headers: Record<string, string>): Promise<Reply> {
  const { pair, settlement } = attempt
  const view = viewFor(attempt)
  const answer = (await upstream.isStream()) ? pair.stream(view) : pair.bodyAsStream(await upstream.text(), view)
  return { headers, body: await watch(attempt, upstream, answer).open(), ended: settlement.ended }
}

function watch(attempt: Attempt, upstream: UpstreamReply, answer: AnswerStream): WatchedStream {
  const { call, ask, settlement, meter, abort, promptEstimate } = attempt
  return new WatchedStream({
    upstream,
    answer,
    settlement,
    meter,
    protocol: PROTOCOLS[ask.protocol],
    requestId: call.requestId,
    promptEstimate,
    cut: abort.signal,
    conceal: concealer(attempt.model, attempt.channel),
    endingOf: seen => endingOf(seen, attempt),
  })
}

const viewFor = ({ ask, model, call: { startedAt }, promptEstimate }: Attempt): View =>
  viewOf(ask, { model, startedAt, promptEstimate })
