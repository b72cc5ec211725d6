import { type Ask, isObject, type JsonObject } from '../core/ask.ts'
import { type Channel, imagePolicy, type Model } from '../core/catalog.ts'
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
import { authenticate } from './authenticate.ts'
import { pairFor, servedBy } from './channel.ts'
import type { Flights } from './flights.ts'
import { Meter } from './meter.ts'
import { relay } from './relay.ts'
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
  readonly flights: Flights
  readonly clock: () => number
  /** The snapshot of this moment. */
  catalog(): Catalog
}

/** One turn, from credential to bill: section 4 of the interface, in the order of its checks. */
export async function serve(call: Call, protocol: Protocol, gateway: Gateway): Promise<Reply> {
  const caller = await authenticate(call.secret, gateway)
  const text = await call.text()
  const body = parseBody(text)
  const catalog = gateway.catalog()
  const model = catalog.find(modelName(body), caller.group)
  refuseUnlessAllowed(caller, model)
  const asked = protocol.read(body, text)

  const channel = choose(catalog.channelsFor(model.id, caller.group), Math.random())
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
  const settlement = new Settlement(opening, gateway)
  settlement.ended.then(flight.end)
  const meter = new Meter({ requestId, price, promptEstimate, held: held.amount, limitTokens }, gateway.ledger)
  return relay({ call, flight, ask, model, channel, pair, settlement, meter, promptEstimate, ...limits(held) })
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

function modelName({ model }: JsonObject): string {
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
function applyImagePolicy(ask: Ask, { model, channel, protocol }: ImageParts): Ask {
  const [first] = ask.images
  if (!first) return ask
  const policy = imagePolicy(model, servedBy(channel, model).capabilities)
  if (policy === 'forward') return ask
  if (policy === 'reject') throw new GatewayError({ kind: 'image-rejected', model: model.id, param: first.param })
  const text = withoutImages(ask.text, ask.images)
  return { ...protocol.read(JSON.parse(text), text), droppedImages: true }
}
