import type { Channel, Model } from '../core/catalog.ts'
import { GatewayError } from '../core/failure.ts'
import type { PriceVersion } from '../core/price.ts'
import { nearest } from './nearest.ts'

/** An immutable snapshot of what can be called; a reload swaps it whole. */
export class Catalog {
  /** Those that can be called, as far as the catalog is concerned. */
  readonly models: ReadonlyMap<string, Model>
  /** With those that are switched off. */
  readonly allModels: readonly Model[]
  readonly channels: readonly Channel[]
  private readonly prices: ReadonlyMap<string, PriceVersion>
  private readonly aliases: ReadonlyMap<string, string>
  /** Channels by group and model, as they were asked for: every request asks, and nothing in here changes. */
  private readonly found = new Map<string, readonly Channel[]>()

  constructor(parts: {
    readonly models: readonly Model[]
    readonly channels: readonly Channel[]
    readonly aliases: ReadonlyMap<string, string>
    /** The versions in force, by model. */
    readonly prices: ReadonlyMap<string, PriceVersion>
  }) {
    this.allModels = parts.models
    this.models = new Map(parts.models.filter(({ enabled }) => enabled).map(model => [model.id, model]))
    this.channels = parts.channels
    this.aliases = parts.aliases
    this.prices = parts.prices
  }

  /** Models that some channel of this group serves, in the catalog's order. */
  listed(group: string): Model[] {
    return [...this.models.values()].filter(model => this.channelsFor(model.id, group).length > 0)
  }

  /** No real upstream is configured. */
  get isSandbox(): boolean {
    return this.channels.every(({ origin }) => origin === 'sandbox')
  }

  /** By id or alias; undefined for one that is not there, or switched off. */
  named(name: string): Model | undefined {
    return this.models.get(this.aliases.get(name) ?? name)
  }

  /** A model without a channel for this group is as unknown as one that is not there at all. */
  find(name: string, group: string): Model {
    const model = this.named(name)
    if (model && this.channelsFor(model.id, group).length > 0) return model
    const known = [...this.listed(group).map(({ id }) => id), ...this.aliases.keys()]
    const isListed = model !== undefined
    throw new GatewayError({ kind: 'model-unknown', model: name, group, nearest: nearest(name, known), isListed })
  }

  /** What nobody has priced cannot be billed, and what cannot be billed is not called. */
  priceOf({ id }: Model): PriceVersion {
    const price = this.prices.get(id)
    if (!price) throw new GatewayError({ kind: 'price-unknown', model: id })
    return price
  }

  /** The version in force; undefined for a model that nobody has priced. */
  versionOf(modelId: string): PriceVersion | undefined {
    return this.prices.get(modelId)
  }

  /** Paused ones too: a model stays listed while its upstreams rest. */
  channelsFor(modelId: string, group: string): readonly Channel[] {
    const name = `${group}\n${modelId}`
    const known = this.found.get(name)
    if (known) return known
    const channels = this.channels.filter(channel => channel.models.has(modelId) && channel.groups.includes(group))
    this.found.set(name, channels)
    return channels
  }
}
