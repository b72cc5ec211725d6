import type { Channel, Model } from '../core/catalog.ts'
import { formatPrice } from '../core/price.ts'
import type { Catalog } from '../routing/catalog.ts'
import type { ChannelView, List, ModelView } from './contract.ts'

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
    images: model.images,
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
  models: Object.fromEntries(channel.models),
  priority: channel.priority,
  weight: channel.weight,
  groups: channel.groups,
})
