import { operatorsName } from '../core/capabilities.ts'
import type { Channel, Model, ServedModel } from '../core/catalog.ts'
import { wireOf } from '../core/failure.ts'
import { formatPrice } from '../core/price.ts'
import type { Probe } from '../core/probe.ts'
import type { Catalog } from '../routing/catalog.ts'
import type { ChannelAttemptView, ChannelTestView, ChannelView, List, ModelView } from './contract.ts'
import { notFound, unprocessable } from './failure.ts'
import { CHANNEL_TEST, read } from './input.ts'

export const listModels = (catalog: Catalog): List<ModelView> => ({
  data: [...catalog.models.values()].map(model => viewModel(model, catalog)),
  next: null,
})

export const listChannels = (catalog: Catalog): List<ChannelView> => ({
  data: catalog.channels.map(viewChannel),
  next: null,
})

function viewModel(model: Model, catalog: Catalog): ModelView {
  const { price } = model
  return {
    id: model.id,
    name: model.name,
    price: price ? { ...formatPrice(price), version: catalog.priceOf(model).version } : null,
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    images: model.images ?? 'ignore',
    recommended: model.recommended,
    reasoning: model.reasoning,
    channels: catalog.channels.filter(channel => channel.models.has(model.id)).map(({ name }) => name),
  }
}

/** Everything about a channel but its credentials. */
const viewChannel = (channel: Channel): ChannelView => ({
  name: channel.name,
  protocol: channel.protocol,
  base_url: channel.baseUrl,
  models: Object.fromEntries([...channel.models].map(([id, { name }]) => [id, name])),
  capabilities: Object.fromEntries([...channel.models].map(([id, served]) => [id, viewCapabilities(served)])),
  priority: channel.priority,
  weight: channel.weight,
  groups: channel.groups,
})

/** Those in force, whoever decided them. */
const viewCapabilities = ({ capabilities }: ServedModel): Record<string, unknown> =>
  Object.fromEntries(Object.entries(capabilities).map(([name, value]) => [operatorsName(name), value]))

export interface ChannelsDeps {
  catalog(): Catalog
  probe(channel: Channel, model: Model): Promise<readonly Probe[]>
}

/** Asks a channel one tiny question in each protocol, with the model that was named or the first it serves. */
export async function testChannel(name: string, body: unknown, deps: ChannelsDeps): Promise<ChannelTestView> {
  const { model: wanted } = read(CHANNEL_TEST, body)
  const catalog = deps.catalog()
  const channel = catalog.channels.find(candidate => candidate.name === name)
  if (!channel) throw notFound(`channel ${name}`)
  const id = wanted ?? channel.models.keys().next().value
  const model = id !== undefined && channel.models.has(id) ? catalog.models.get(id) : undefined
  if (!model) throw unprocessable(`model: channel ${name} does not serve ${id}`, 'model')
  const attempts = (await deps.probe(channel, model)).map(viewAttempt)
  return { channel: name, model: model.id, ok: attempts.every(({ ok }) => ok), attempts }
}

function viewAttempt({ client, upstream, durationMs, request, answer, failure }: Probe): ChannelAttemptView {
  const wire = failure && wireOf(failure)
  return {
    ...{ client, upstream, ok: !failure, duration_ms: durationMs, request },
    answer: answer ?? null,
    error: wire ? { code: wire.code, message: wire.message } : null,
  }
}
