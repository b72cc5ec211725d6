import type { Channel, Model } from '../core/catalog.ts'
import { GatewayError } from '../core/failure.ts'
import { nearest } from './nearest.ts'

/** An immutable snapshot of what can be called; a reload swaps it whole. */
export class Catalog {
  readonly models: ReadonlyMap<string, Model>
  readonly channels: readonly Channel[]
  private readonly aliases: ReadonlyMap<string, string>

  constructor(parts: {
    readonly models: readonly Model[]
    readonly channels: readonly Channel[]
    readonly aliases: ReadonlyMap<string, string>
  }) {
    this.models = new Map(parts.models.map(model => [model.id, model]))
    this.channels = parts.channels
    this.aliases = parts.aliases
  }

  /** Models that some channel of this group serves, in the catalog's order. */
  listed(group: string): Model[] {
    return [...this.models.values()].filter(model => this.channelsFor(model.id, group).length > 0)
  }

  /** A model without a channel for this group is as unknown as one that is not there at all. */
  find(name: string, group: string): Model {
    const model = this.models.get(this.aliases.get(name) ?? name)
    if (model && this.channelsFor(model.id, group).length > 0) return model
    const known = [...this.listed(group).map(({ id }) => id), ...this.aliases.keys()]
    throw new GatewayError({ kind: 'model-unknown', model: name, group, nearest: nearest(name, known) })
  }

  channelsFor(modelId: string, group: string): Channel[] {
    return this.channels.filter(channel => channel.models.has(modelId) && channel.groups.includes(group))
  }
}
