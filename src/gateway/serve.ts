import { type Ask, isObject, type JsonObject } from '../core/ask.ts'
import { type Channel, imagePolicy, isUsable, type Model } from '../core/catalog.ts'
import type { Caller, KeyDirectory } from '../core/directory.ts'
import { GatewayError, invalid } from '../core/failure.ts'
import type { HeldCall } from '../core/ledger.ts'
import type { PriceVersion } from '../core/price.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { estimatePrompt } from '../metering/estimate.ts'
import { withoutImages } from '../protocol/images.ts'
import type { Protocol } from '../protocol/protocol.ts'
import type { Catalog } from '../routing/catalog.ts'
import { choose } from '../routing/choose.ts'
import type { Health } from '../routing/health.ts'
import { authenticate } from './authenticate.ts'
import { pairFor, pickKey, servedBy } from './channel.ts'
import type { Flights } from './flights.ts'
import type { Keeper } from './keeper.ts'
import { Meter } from './meter.ts'
import { noteOutcome } from './outcome.ts'
import type { Inquiry, Refusals } from './refusals.ts'
import { type Relay, relay } from './relay.ts'
import { reserve } from './reserve.ts'
import { type Opening, Settlement } from './settlement.ts'

/** A request as the edge hands it over. */
export interface Call {
  readonly requestId: string
  readonly startedAt: number
  readonly secret: string | undefined
  readonly headers: Headers
  /** Aborted when the client has left. */
  readonly signal: AbortSignal
  /** The body, within its limits of size and time. */
  text(): Promise<string>
}

export interface Reply {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | ReadableStream<Uint8Array>
  /** Set where the answer goes on after its first byte: resolves with the failure that ended it, if one did. */
  readonly ended?: Promise<GatewayError | undefined>
}

export interface Gateway {
  readonly keys: KeyDirectory
  readonly ledger: Ledger
  readonly refusals: Refusals
  readonly keeper: Keeper
  readonly flights: Flights
  readonly health: Pick<Health, 'note'>
  readonly clock: () => number
  /** The snapshot of this moment. */
  catalog(): Catalog
}

/** One turn, from credential to bill: section 4 of the interface, in the order of its checks. */
export async function serve(call: Call, protocol: Protocol, gateway: Gateway): Promise<Reply> {
  const caller = await authenticate(call.secret, gateway)
  const inquiry: Inquiry = { call, caller, protocol, text: '', body: {} }
  const answer = async () => relay(await admitOrNote(inquiry, gateway))
  return caller.keepDays === undefined ? answer() : gateway.keeper.keep(inquiry, answer)
}

/** Section 4.4: the credential comes first, then a misleading complaint that scripts rely on. */
export async function refusePath(call: Call, protocol: Protocol, gateway: Gateway): Promise<never> {
  const caller = await authenticate(call.secret, gateway)
  const failure = new GatewayError({ kind: 'path-unsupported' })
  gateway.refusals.note({ call, caller, protocol, text: '', body: {} }, failure)
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
  const { call, caller, protocol } = inquiry
  const text = await call.text()
  inquiry.text = text
  const body = parseBody(text)
  inquiry.body = body
  const catalog = gateway.catalog()
  const model = catalog.find(modelName(body), caller.group)
  refuseUnlessAllowed(caller, model)
  const asked = protocol.read(body, text)

  const channel = choose(catalog.channelsFor(model.id, caller.group).filter(isUsable), Math.random())
  if (!channel) throw new GatewayError({ kind: 'upstream-unavailable', model: model.id })
  const ask = applyImagePolicy(asked, { model, channel, protocol })
  const pair = pairFor(ask, model, channel)

  const price = catalog.priceOf(model)
  const promptEstimate = estimatePrompt(ask)
  const { most, least, limitTokens, limits } = reserve({ ask, model, price, promptEstimate })
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

  const flight = gateway.flights.begin(call.signal)
  const settlement = new Settlement(opening, { ledger: gateway.ledger, clock: gateway.clock, request: text })
  const key = pickKey(channel)
  settlement.ended.then(failed => {
    flight.end()
    noteOutcome({ model, channel, key }, { failed, timings: settlement.timings }, gateway.health)
  })
  const meter = new Meter({ requestId, price, promptEstimate, held: held.amount, limitTokens }, gateway.ledger)
  const route = { model, channel, key, showsChannel: caller.isAdmins }
  return { call, flight, ask, ...route, pair, settlement, meter, promptEstimate, ...limits(held) }
}

const describe = (ask: Ask, channel: Channel, price: PriceVersion): HeldCall => ({
  model: price.model,
  channel: channel.name,
  protocol: ask.protocol,
  upstreamProtocol: channel.protocol,
  stream: ask.stream,
  priceId: price.id,
})

function parseBody(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new GatewayError({ kind: 'body-not-json' }, cause)
  }
  if (!isObject(value)) throw new GatewayError({ kind: 'body-not-json' })
  return value
}

export function modelName({ model }: JsonObject): string {
  if (model === undefined || model === null || model === '')
    throw new GatewayError({ kind: 'field-missing', field: 'model' })
  if (typeof model !== 'string') throw invalid('model', 'must be a string')
  return model
}

function refuseUnlessAllowed({ models }: Caller, { id }: Model): void {
  if (models && !models.includes(id)) throw new GatewayError({ kind: 'model-not-allowed', model: id })
}

interface ImageParts {
  readonly model: Model
  readonly channel: Channel
  readonly protocol: Protocol
}

/** Images never reach a model that cannot see them: they are refused, or taken out as if they had not been sent. */
export function applyImagePolicy(ask: Ask, { model, channel, protocol }: ImageParts): Ask {
  const [first] = ask.images
  if (!first) return ask
  const policy = imagePolicy(model, servedBy(channel, model).capabilities)
  if (policy === 'forward') return ask
  if (policy === 'reject') throw new GatewayError({ kind: 'image-rejected', model: model.id, param: first.param })
  const text = withoutImages(ask.text, ask.images)
  return { ...protocol.read(JSON.parse(text), text), droppedImages: true }
}
