import type { Ask } from '../core/ask.ts'
import { type Channel, imagePolicy, type Model } from '../core/catalog.ts'
import { asGatewayError, GatewayError } from '../core/failure.ts'
import type { Nanos } from '../core/money.ts'
import { editedRequest } from '../protocol/edited.ts'
import { withoutImages } from '../protocol/images.ts'
import { droppedNames } from '../protocol/names.ts'
import type { EditedRequest, Target } from '../protocol/protocol.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import { askedAsStream } from './ceiling.ts'
import { pairFor, servedBy, targetOf } from './channel.ts'
import type { Pair } from './pair.ts'

/** A request as one channel can be asked it. */
export interface Prepared {
  readonly ask: Ask
  readonly pair: Pair
}

interface Question {
  readonly asked: Ask
  readonly model: Model
  /** What the caller will pay at most; undefined for one who has set no ceiling. */
  readonly ceiling?: Nanos | undefined
}

export function prepare({ asked, model, ceiling }: Question, channel: Channel): Prepared {
  const ask = applyImagePolicy(asked, model, channel)
  const isFolded = ceiling !== undefined && !ask.stream
  return { ask, pair: pairFor(isFolded ? askedAsStream(ask) : ask, model, channel) }
}

/** Images never reach a model that cannot see them: they are refused, or taken out as if they had not been sent. */
function applyImagePolicy(ask: Ask, model: Model, channel: Channel): Ask {
  const [first] = ask.images
  if (!first) return ask
  const policy = imagePolicy(model, servedBy(channel, model).capabilities)
  if (policy === 'forward') return ask
  if (policy === 'reject') throw new GatewayError({ kind: 'image-rejected', model: model.id, param: first.param })
  const text = withoutImages(ask.source, ask.images)
  return { ...PROTOCOLS[ask.protocol].read(JSON.parse(text), text), droppedImages: true }
}

interface Encoding extends Prepared {
  readonly model: Model
  readonly channel: Channel
  /** The limit to send upstream. */
  readonly maxTokens: number | undefined
}

/** As `encodeFor`, and refused if the caller will have all of it or nothing. */
export function encode(parts: Encoding, headers: Headers): EditedRequest {
  const request = encodeFor(parts)
  if (request.dropped.length > 0 && isStrict(headers)) {
    throw new GatewayError({ kind: 'translation-lossy', dropped: request.dropped })
  }
  return request
}

/** What the upstream is sent, and what of the request it cannot be given. */
export function encodeFor({ ask, pair, model, channel, maxTokens }: Encoding): EditedRequest {
  const request = requestTo(targetOf(model, channel, maxTokens), pair)
  const { dropped } = request
  if (dropped.length === 0 && !ask.droppedImages) return request
  return editedRequest(
    request.pieces ?? request.body,
    droppedNames(ask.droppedImages ? ['image', ...dropped] : dropped),
  )
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
