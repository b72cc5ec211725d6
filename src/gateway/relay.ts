import type { Ask } from '../core/ask.ts'
import type { Channel, Model, UsableKey } from '../core/catalog.ts'
import { asGatewayError, GatewayError } from '../core/failure.ts'
import type { Ending } from '../core/ledger.ts'
import { formatDollars } from '../core/money.ts'
import type { Seen } from '../core/seen.ts'
import { count, countPrompt } from '../metering/count.ts'
import { asAnswerFailure } from '../protocol/answer.ts'
import { droppedNames } from '../protocol/names.ts'
import type { EditedRequest, Protocol, Target, View } from '../protocol/protocol.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import type { UpstreamReply } from '../upstream/client.ts'
import { callChannel, concealer, targetOf } from './channel.ts'
import type { Flight } from './flights.ts'
import type { Meter } from './meter.ts'
import type { Pair } from './pair.ts'
import type { Limits } from './reserve.ts'
import type { Call, Reply } from './serve.ts'
import type { Charged, Settlement } from './settlement.ts'
import { viewOf } from './view.ts'
import { WatchedStream } from './watch.ts'

export interface Relay extends Limits {
  readonly call: Call
  readonly ask: Ask
  readonly model: Model
  readonly channel: Channel
  readonly key: UsableKey | undefined
  /** The answer says which channel it came from. */
  readonly showsChannel: boolean
  readonly pair: Pair
  readonly settlement: Settlement
  readonly meter: Meter
  readonly flight: Flight
  readonly promptEstimate: number
}

/** Asks the upstream and answers the caller. Whatever happens, the settlement has been told when this is over. */
export async function relay(relay: Relay): Promise<Reply> {
  const { call, settlement, channel, key, ask, flight } = relay
  let isAsked = false
  try {
    const { body, dropped } = encode(relay)
    isAsked = !flight.abort.signal.aborted
    const upstream = await callChannel({ channel, key, ask, headers: call.headers, body, abort: flight.abort })
    const headers = replyHeaders(relay, dropped)
    return ask.stream ? await streamed(relay, upstream, headers) : await whole(relay, upstream, headers)
  } catch (error) {
    const { failure: found, cause } = asAnswerFailure(error)
    // Records are read by people whose business it is no more than the caller's.
    const failure = new GatewayError(concealer(relay.model, channel)(found), cause)
    flight.abort.abort()
    // A caller who leaves has had the prompt read for it; every other failure here produced nothing.
    if (isAsked && call.signal.aborted) await settlement.charge(countPrompt(relay.promptEstimate), { failure })
    else await settlement.release(failure)
    throw failure
  }
}

function encode(relay: Relay): EditedRequest {
  const request = encodeFor(relay)
  if (request.dropped.length > 0 && isStrict(relay.call.headers)) {
    throw new GatewayError({ kind: 'translation-lossy', dropped: request.dropped })
  }
  return request
}

/** What the upstream is sent, and what of the request it cannot be given. */
export function encodeFor(parts: Pick<Relay, 'ask' | 'model' | 'channel' | 'pair' | 'maxTokens'>): EditedRequest {
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

function replyHeaders({ channel, showsChannel }: Relay, dropped: readonly string[]): Record<string, string> {
  return {
    ...channel.replyHeaders,
    ...(showsChannel ? { 'x-duet-channel': channel.name } : {}),
    ...(dropped.length > 0 ? { 'x-duet-dropped': dropped.join(',') } : {}),
  }
}

async function whole(relay: Relay, upstream: UpstreamReply, headers: Record<string, string>): Promise<Reply> {
  const { pair, settlement, meter, promptEstimate } = relay
  const answer = pair.body(await upstream.text(), viewFor(relay))
  settlement.firstByte()
  const ending = endingOf(answer.seen, relay)
  const counted = count(answer.seen, promptEstimate)
  const charged = await settlement.charge(meter.confine(counted), { ending })
  return { headers: { ...headers, ...moneyHeaders(charged) }, body: answer.render(charged.bill) }
}

/** An answer that reached a limit which only the money had set ended for want of money. */
function endingOf({ reason }: Seen, { isShort }: Pick<Limits, 'isShort'>): Ending | undefined {
  return isShort && reason === 'length' ? 'funds' : reason
}

function moneyHeaders({ bill, balance, keyRemaining }: Charged): Record<string, string> {
  return {
    'x-duet-cost': bill.cost,
    'x-duet-balance': formatDollars(balance),
    ...(keyRemaining === undefined ? {} : { 'x-duet-key-remaining': formatDollars(keyRemaining) }),
  }
}

async function streamed(relay: Relay, upstream: UpstreamReply, headers: Record<string, string>): Promise<Reply> {
  const { call, ask, pair, settlement, meter, flight, promptEstimate } = relay
  const view = viewFor(relay)
  const answer = (await upstream.isStream()) ? pair.stream(view) : pair.bodyAsStream(await upstream.text(), view)
  const protocol: Protocol = PROTOCOLS[ask.protocol]
  const watched = new WatchedStream({
    upstream,
    answer,
    settlement,
    meter,
    protocol,
    requestId: call.requestId,
    promptEstimate,
    cut: flight.abort.signal,
    conceal: concealer(relay.model, relay.channel),
    endingOf: seen => endingOf(seen, relay),
  })
  return { headers, body: await watched.open(), ended: settlement.ended }
}

const viewFor = ({ ask, model, call: { startedAt }, promptEstimate }: Relay): View =>
  viewOf(ask, { model, startedAt, promptEstimate })
