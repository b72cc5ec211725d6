import type { Ask } from '../core/ask.ts'
import type { Model } from '../core/catalog.ts'
import type { Held } from '../core/ledger.ts'
import type { Nanos } from '../core/money.ts'
import { affordableOutput, cost, type Price } from '../core/price.ts'
import { NO_USAGE } from '../core/usage.ts'

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
  /** There was less money than the call may cost: if it ends at its limit, then at ours. */
  readonly isShort: boolean
}

export interface Reservation {
  readonly ask: Ask
  readonly model: Model
  readonly price: Price
  readonly promptEstimate: number
}

export function reserve({ ask, model, price, promptEstimate }: Reservation): Reserve {
  const limit = Math.min(ask.maxTokens ?? model.maxOutputTokens, model.maxOutputTokens)
  const window = ask.stream ? Math.min(limit, STREAM_WINDOW_TOKENS) : limit
  const priceOf = (output: number) => cost({ ...NO_USAGE, input: promptEstimate, output: output * ask.choices }, price)
  const most = priceOf(window)
  return {
    most,
    least: priceOf(Math.min(window, WORTHWHILE_TOKENS)),
    limitTokens: limit * ask.choices,
    // A stream holds a window of what it may become, but its upstream is told how far the money goes.
    limits: ({ available }) => {
      // What the caller asked for beyond the model's own limit is not held, so upstream must not be asked for it.
      if (available >= priceOf(limit))
        return { maxTokens: ask.maxTokens === undefined ? undefined : limit, isShort: false }
      const maxTokens = Math.floor(affordableOutput(available, priceOf(0), price) / ask.choices)
      return { maxTokens: Math.max(1, maxTokens), isShort: true }
    },
  }
}
