import type { Ask } from '../core/ask.ts'
import type { Model } from '../core/catalog.ts'
import { GatewayError } from '../core/failure.ts'
import type { Held, Shortage } from '../core/ledger.ts'
import { fromMillionths, type Nanos, tally } from '../core/money.ts'
import { affordableOutput, type Price } from '../core/price.ts'

/** Agents ask for 32,000 tokens and use 500: a stream holds this much ahead, not all it may become. */
export const STREAM_WINDOW_TOKENS = 4_096
/** Less than this is not worth starting; it is also the amount a refusal asks for. */
const WORTHWHILE_TOKENS = 1_024

/** What a call holds before it starts: `most` if there is money for it, and no less than `least`. */
export interface Reserve {
  readonly most: Nanos
  readonly least: Nanos
  /** All the output that the caller may get, of all answers that were asked for. */
  readonly limitTokens: number
  /** How far the answer may go, given what was really held. */
  limits(held: Held): Limits
}

export interface Limits {
  /** The limit to send upstream: the caller's, or what the money pays for. */
  readonly maxTokens: number | undefined
  /** What allows less than the call may cost: if it ends at its limit, then at this one. */
  readonly shortage: Shortage | undefined
}

export interface Reservation {
  readonly ask: Ask
  readonly model: Model
  readonly price: Price
  readonly promptEstimate: number
  /** What the caller will pay at most; undefined for one who has set no ceiling. */
  readonly ceiling?: Nanos | undefined
}

export function reserve({ ask, model, price, promptEstimate, ceiling }: Reservation): Reserve {
  const limit = Math.min(ask.maxTokens ?? model.maxOutputTokens, model.maxOutputTokens)
  const window = ask.stream ? Math.min(limit, STREAM_WINDOW_TOKENS) : limit
  const prompt = tally(promptEstimate, price.input)
  const priceOf = (output: number) => fromMillionths(prompt + tally(output * ask.choices, price.output))
  const atMost = (amount: Nanos) => (ceiling !== undefined && ceiling < amount ? ceiling : amount)
  if (ceiling !== undefined && ceiling < priceOf(1)) {
    throw new GatewayError({ kind: 'ceiling-too-low', needed: priceOf(1) })
  }
  return {
    most: atMost(priceOf(window)),
    // A ceiling below what is worth starting is the caller's own wish.
    least: atMost(priceOf(Math.min(window, WORTHWHILE_TOKENS))),
    limitTokens: limit * ask.choices,
    // A stream holds a window of what it may become, but its upstream is told how far the money goes.
    limits: ({ available }) => {
      const money = atMost(available)
      // What the caller asked for beyond the model's own limit is not held, so upstream must not be asked for it.
      if (money >= priceOf(limit))
        return { maxTokens: ask.maxTokens === undefined ? undefined : limit, shortage: undefined }
      const maxTokens = Math.floor(affordableOutput(money, priceOf(0), price) / ask.choices)
      return { maxTokens: Math.max(1, maxTokens), shortage: money === ceiling ? 'ceiling' : 'funds' }
    },
  }
}
