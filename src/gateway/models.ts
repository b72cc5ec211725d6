import { type Channel, imagePolicy, type Model } from '../core/catalog.ts'
import type { Caller } from '../core/directory.ts'
import { formatPrice } from '../core/price.ts'
import type { Catalog } from '../routing/catalog.ts'

/** The day of the catalog snapshot; models carry no date of their own. */
const SNAPSHOT = Date.UTC(2026, 8, 21)

/** What this caller can use: one list for the clients of both dialects. */
export function listModels(catalog: Catalog, caller: Caller): string {
  const data = usable(catalog, caller).map(model => describe(model, catalog.channelsFor(model.id, caller.group)))
  const [first, last] = [data.at(0)?.id ?? null, data.at(-1)?.id ?? null]
  return JSON.stringify({ data, has_more: false, first_id: first, last_id: last })
}

/** One entry, or undefined if this caller cannot use such a model. */
export function showModel(catalog: Catalog, caller: Caller, id: string): string | undefined {
  const model = usable(catalog, caller).find(candidate => candidate.id === id)
  return model && JSON.stringify(describe(model, catalog.channelsFor(model.id, caller.group)))
}

function usable(catalog: Catalog, { group, models }: Caller): Model[] {
  return catalog.listed(group).filter(({ id }) => !models || models.includes(id))
}

function describe(model: Model, channels: readonly Channel[]) {
  const served = channels.flatMap(channel => channel.models.get(model.id) ?? [])
  const { price } = model
  return {
    id: model.id,
    object: 'model',
    created: SNAPSHOT / 1000,
    owned_by: model.id.slice(0, model.id.indexOf('/')),
    type: 'model',
    display_name: model.name,
    description: model.description,
    created_at: new Date(SNAPSHOT).toISOString(),
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    pricing: price ? { ...formatPrice(price), unit: 'dollars per million tokens' } : null,
    recommended: model.recommended,
    supports: {
      tools: true,
      json_mode: true,
      streaming: true,
      reasoning: model.reasoning,
      images: served.some(({ capabilities }) => imagePolicy(model, capabilities) === 'forward'),
    },
  }
}
