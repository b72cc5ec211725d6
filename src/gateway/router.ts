import type { Channel, Model } from '../core/catalog.ts'
import { GatewayError } from '../core/failure.ts'
import { type Availability, choose, type Excluded, type Route, soonestMs } from '../routing/choose.ts'

/** What is said of a model whose channels are all paused: nobody knows when they will be back. */
const PAUSED_SECONDS = 5

/** Draws the dice that choosing needs. */
export class Router {
  private readonly availability: Availability
  private readonly random: () => number
  private turn = 0

  constructor(availability: Availability, random: () => number) {
    this.availability = availability
    this.random = random
  }

  route(channels: readonly Channel[], excluded: Excluded): Route | undefined {
    return choose({ channels, availability: this.availability, excluded, dice: this.random(), turn: this.turn++ })
  }

  /** The model is in the catalog, and nobody who serves it can be asked now. */
  unavailable({ id }: Model, channels: readonly Channel[]): GatewayError {
    const restMs = soonestMs(channels, this.availability) ?? PAUSED_SECONDS * 1_000
    const retryAfterSeconds = Math.max(1, Math.ceil(restMs / 1_000))
    return new GatewayError({ kind: 'upstream-unavailable', model: id, retryAfterSeconds })
  }
}
