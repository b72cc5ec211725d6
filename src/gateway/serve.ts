import type { Ask, JsonObject } from '../core/ask.ts'
import type { Channel, Model } from '../core/catalog.ts'
import type { Caller, KeyDirectory } from '../core/directory.ts'
import { GatewayError, invalid } from '../core/failure.ts'
import type { HeldCall } from '../core/ledger.ts'
import type { Nanos } from '../core/money.ts'
import type { PriceVersion } from '../core/price.ts'
import type { Source } from '../core/source.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { estimatePrompt } from '../metering/estimate.ts'
import type { Protocol } from '../protocol/protocol.ts'
import type { Breakers } from '../routing/breakers.ts'
import type { Catalog } from '../routing/catalog.ts'
import { type Excluded, NONE_EXCLUDED } from '../routing/choose.ts'
import type { Health } from '../routing/health.ts'
import { authenticate } from './authenticate.ts'
import { readCeiling } from './ceiling.ts'
import type { Flights } from './flights.ts'
import type { Keeper } from './keeper.ts'
import type { KeyLimits } from './key-limits.ts'
import { Meter } from './meter.ts'
import { waitsMs } from './patience.ts'
import { prepare } from './prepare.ts'
import type { Recollection } from './recollection.ts'
import { type Inquiry, NOTHING_READ, type Refusals } from './refusals.ts'
import { type Relay, relay } from './relay.ts'
import type { Repeats } from './repeats.ts'
import { reserve } from './reserve.ts'
import type { Router } from './router.ts'
import { type Opening, Settlement } from './settlement.ts'
import type { Stay } from './stay.ts'
import { type AttemptCounts, Tries } from './tries.ts'

/** A request as the edge hands it over. */
export interface Call {
  readonly requestId: string
  readonly startedAt: number
  readonly secret: string | undefined
  readonly headers: Headers
  /** Aborted when the client has left. */
  readonly signal: AbortSignal
  /** While it lasts, the request is under way for all who count. */
  readonly stay: Stay
  /** The body, within its limits of size and time. */
  bytes(): Promise<Uint8Array>
}

export interface Reply {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | ReadableStream<Uint8Array>
  /** Set where the body is a whole answer although it is handed over in pieces: how long it is. */
  readonly bodyBytes?: number | undefined
  /** Set where the answer goes on after its first byte: resolves with the failure that ended it, if one did. */
  readonly ended?: Promise<GatewayError | undefined>
  /** The request that was answered first, where this is its answer once more. */
  readonly replayOf?: string
}

export interface Gateway {
  readonly keys: KeyDirectory
  readonly ledger: Ledger
  readonly limits: KeyLimits
  readonly refusals: Refusals
  readonly keeper: Keeper
  readonly repeats: Repeats
  readonly recollection: Recollection
  readonly flights: Flights
  readonly router: Router
  readonly breakers: Pick<Breakers, 'begin'>
  readonly health: Pick<Health, 'note'>
  readonly counts: AttemptCounts
  /** Told what a caller's ceiling has kept off its bill. */
  readonly onExcess: (requestId: string, amount: Nanos) => void
  readonly clock: () => number
  /** The snapshot of this moment. */
  catalog(): Catalog
}

/** One turn, from credential to bill: section 4 of the interface, in the order of its checks. */
export async function serve(call: Call, protocol: Protocol, gateway: Gateway): Promise<Reply> {
  const caller = await authenticate(call.secret, gateway)
  const inquiry: Inquiry = { call, caller, protocol, ...NOTHING_READ }
  const news = gateway.limits.ask(caller)
  if (news) await news
  call.stay.whenOver(enterOrNote(inquiry, gateway))
  return gateway.repeats.answer(inquiry, first => answerOnce(first, gateway))
}

function enterOrNote(inquiry: Inquiry, gateway: Gateway): () => void {
  try {
    return gateway.limits.enter(inquiry.caller)
  } catch (error) {
    gateway.refusals.note(inquiry, error)
    throw error
  }
}

function answerOnce(inquiry: Inquiry, gateway: Gateway): Promise<Reply> {
  const answer = () => admitOrNote(inquiry, gateway).then(relay)
  return inquiry.caller.keepDays === undefined ? answer() : gateway.keeper.keep(inquiry, answer)
}

/** Section 4.4: the credential comes first, then a misleading complaint that scripts rely on. */
export async function refusePath(call: Call, protocol: Protocol, gateway: Gateway): Promise<never> {
  const caller = await authenticate(call.secret, gateway)
  const failure = new GatewayError({ kind: 'path-unsupported' })
  gateway.refusals.note({ call, caller, protocol, ...NOTHING_READ }, failure)
  throw failure
}

async function admitOrNote(inquiry: Inquiry, gateway: Gateway): Promise<Relay> {
  try {
    return await admit(inquiry, gateway)
  } catch (error) {
    gateway.refusals.note(inquiry, error)
    throw error
  }
}

/** All that can be said against a request, up to the hold; nothing was sent anywhere until then. */
async function admit(inquiry: Inquiry, gateway: Gateway): Promise<Relay> {
  const { call, caller } = inquiry
  inquiry.bytes = await call.bytes()
  const { body, source } = gateway.recollection.read(inquiry.bytes, caller.keyId)
  inquiry.body = body
  const catalog = gateway.catalog()
  const model = catalog.find(modelName(inquiry.body), caller.group)
  const channels = catalog.channelsFor(model.id, caller.group)
  const first = gateway.router.route(channels, NONE_EXCLUDED)
  if (!first) throw gateway.router.unavailable(model, channels)
  // At once: whoever is asked again after a while is asked by one request, and by no other until that is over.
  const { breakers, health, counts, clock } = gateway
  const { requestId, startedAt } = call
  const tries = new Tries(first, { requestId, model, breakers, health, counts, clock, startedAt })
  try {
    return await hold({ inquiry, source, catalog, model, channels, tries }, gateway)
  } catch (error) {
    tries.callOff()
    throw error
  }
}

interface Candidate {
  readonly inquiry: Inquiry
  readonly source: Source
  readonly catalog: Catalog
  readonly model: Model
  readonly channels: readonly Channel[]
  readonly tries: Tries
}

async function hold(candidate: Candidate, gateway: Gateway): Promise<Relay> {
  const { inquiry, source, catalog, model, channels, tries } = candidate
  const { call, caller, protocol, body, repeatable } = inquiry
  refuseUnlessAllowed(caller, model)
  const asked = protocol.read(body, source)
  const ceiling = readCeiling(call.headers)
  const { channel } = tries.route
  const prepared = prepare({ asked, model, ceiling }, channel)

  const price = catalog.priceOf(model)
  const { ask } = prepared
  const promptEstimate = estimatePrompt(ask)
  const { most, least, limitTokens, limits } = reserve({ ask, model, price, promptEstimate, ceiling })
  const { requestId, startedAt } = call
  const opening: Opening = {
    requestId,
    accountId: caller.accountId,
    keyId: caller.keyId,
    call: describe(ask, channel, price),
    price,
    startedAt,
  }
  const held = await gateway.ledger.hold({ ...opening, most, least, at: startedAt })
  gateway.recollection.keep(source, caller.keyId)

  const { clock, ledger } = gateway
  // A call with a name goes on when its caller will wait no longer: it will be asked for again.
  const limitMs = repeatable ? undefined : waitsMs(call, clock())
  const flight = gateway.flights.begin({ signal: call.signal, waitsMs: limitMs })
  const settlement = new Settlement(opening, { ledger, clock, tries, source, repeatable })
  settlement.ended.then(failed => {
    flight.end()
    tries.end(failed)
  })
  const onExcess = (amount: Nanos) => gateway.onExcess(requestId, amount)
  const metered = { requestId, price, promptEstimate, held: held.amount, limitTokens, ceiling, onExcess }
  const meter = new Meter(metered, ledger)
  const nextRoute = (excluded: Excluded) => gateway.router.route(channels, excluded)
  const route = { model, tries, prepared, nextRoute, showsChannel: caller.isAdmins }
  return { call, asked, ceiling, flight, ...route, settlement, meter, promptEstimate, ...limits(held) }
}

const describe = (ask: Ask, channel: Channel, price: PriceVersion): HeldCall => ({
  model: price.model,
  channel: channel.name,
  protocol: ask.protocol,
  upstreamProtocol: channel.protocol,
  stream: ask.stream,
  priceId: price.id,
})

export function modelName({ model }: JsonObject): string {
  if (model === undefined || model === null || model === '')
    throw new GatewayError({ kind: 'field-missing', field: 'model' })
  if (typeof model !== 'string') throw invalid('model', 'must be a string')
  return model
}

function refuseUnlessAllowed({ models }: Caller, { id }: Model): void {
  if (models && !models.includes(id)) throw new GatewayError({ kind: 'model-not-allowed', model: id })
}
