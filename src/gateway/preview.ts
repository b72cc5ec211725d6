import type { Channel, Model } from '../core/catalog.ts'
import { GatewayError, invalid } from '../core/failure.ts'
import type { Preview, PreviewRequest } from '../core/preview.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import type { Catalog } from '../routing/catalog.ts'
import { chooseBlindly } from '../routing/choose.ts'
import { isPassedOn } from './channel.ts'
import { encodeFor, prepare } from './prepare.ts'
import { modelName } from './serve.ts'

/** The first steps of a turn, up to the request that would leave: nobody pays, nobody is called. */
export function previewRequest({ protocol: name, body, channel: wanted }: PreviewRequest, catalog: Catalog): Preview {
  const protocol = PROTOCOLS[name]
  const model = findModel(modelName(body), catalog)
  const asked = protocol.read(body, JSON.stringify(body))
  const channel = findChannel(model, wanted, catalog)
  const { ask, pair } = prepare({ asked, model }, channel)
  const { maxOutputTokens } = model
  // As with enough money for all that is asked for.
  const maxTokens = ask.maxTokens === undefined ? undefined : Math.min(ask.maxTokens, maxOutputTokens)
  const { body: text, dropped } = encodeFor({ ask, model, channel, pair, maxTokens })
  return {
    channel: channel.name,
    upstream: channel.protocol,
    isPassedOn: isPassedOn(ask, model, channel),
    request: JSON.parse(text),
    dropped,
  }
}

function findModel(name: string, catalog: Catalog): Model {
  const model = catalog.named(name)
  if (!model) throw invalid('model', 'does not name a model of the catalog')
  return model
}

function findChannel(model: Model, wanted: string | undefined, catalog: Catalog): Channel {
  const serving = catalog.channels.filter(({ models }) => models.has(model.id))
  if (wanted === undefined) {
    const chosen = chooseBlindly(serving)
    if (!chosen) throw new GatewayError({ kind: 'upstream-unavailable', model: model.id, retryAfterSeconds: 1 })
    return chosen.channel
  }
  const named = serving.find(({ name }) => name === wanted)
  if (!named) throw invalid('channel', `does not name a channel that serves ${model.id}`)
  return named
}
