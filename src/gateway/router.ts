import type { Channel, Model } from '../core/catalog.ts'
import { GatewayError } from '../core/failure.ts'
import { type Availability, choose, type Excluded, type Route, soonestMs } from '../routing/choose.ts'

/** What is said of a model whose channels are all paused: nobody knows when they will be back. */
const PAUSED_SECONDS = 5

/** Draws the dice that choosing needs, and counts whose turn it is. */
export class Router {
  private readonly availability: Availability
  private readonly random: () => number
  private readonly turns = new Map<string, number>()

  constructor(availability: Availability, random: () => number) {
    this.availability = availability
    this.random = random
  }

  route(channels: readonly Channel[], excluded: Excluded): Route | undefined {
    const turnOf = (channel: string) => this.turns.get(channel) ?? 0
    const route = choose({ channels, availability: this.availability, excluded, dice: this.random(), turnOf })
    if (route?.key) this.turns.set(route.channel.name, turnOf(route.channel.name) + 1)
    return route
  }

  /** Turns of channels that are gone are forgotten. */
  follow(_before: readonly Channel[], after: readonly Channel[]): void {
    const names = new Set(after.map(({ name }) => name))
    for (const name of this.turns.keys()) if (!names.has(name)) this.turns.delete(name)
  }

  /** The model is in the catalog, and nobody who serves it can be asked now. */
  unavailable({ id }: Model, channels: readonly Channel[]): GatewayError {
    const restMs = soonestMs(channels, this.availability) ?? PAUSED_SECONDS * 1_000
    const retryAfterSeconds = Math.max(1, Math.ceil(restMs / 1_000))
    return new GatewayError({ kind: 'upstream-unavailable', model: id, retryAfterSeconds })
  }
}
