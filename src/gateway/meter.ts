import { GatewayError } from '../core/failure.ts'
import type { Ending, Shortage } from '../core/ledger.ts'
import { type Nanos, nanos, ZERO } from '../core/money.ts'
import { affordableOutput, affordableUsage, cost, type Price } from '../core/price.ts'
import type { Seen } from '../core/seen.ts'
import { NO_USAGE, type Usage } from '../core/usage.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type Counted, count } from '../metering/count.ts'
import { estimateTokens } from '../metering/estimate.ts'
import { STREAM_WINDOW_TOKENS } from './reserve.ts'

export interface Metered {
  readonly requestId: string
  readonly price: Price
  readonly promptEstimate: number
  /** What was held when the call began. */
  readonly held: Nanos
  /** All that the caller asked for. Once this much is held, more is held only if it comes. */
  readonly limitTokens: number
  /** What the caller will pay at most; undefined for one who has set no ceiling. */
  readonly ceiling?: Nanos | undefined
  /** Told what upstream counts beyond the ceiling in the end: the caller does not pay it. */
  readonly onExcess?: ((amount: Nanos) => void) | undefined
}

/** The next window is asked for when this much of the last one is left. */
const AHEAD_TOKENS = STREAM_WINDOW_TOKENS / 2
/** Beyond what was asked for, money is taken in small pieces. */
const BEYOND_TOKENS = 256
/**
 * A ledger that is away stops no stream, and nobody can say meanwhile whether there is money for more. So a stream may go
 * on for this much beyond what is held for it, minutes of what models write; all of it is charged in the end, and is what a
 * balance or a cap may be exceeded by at most, for each stream that was under way.
 */
const CREDIT_TOKENS = 4 * STREAM_WINDOW_TOKENS
/** One that has used that up waits for the ledger, as the end of an answer does. */
const PATIENCE_MS = 30_000
const ASK_AGAIN_MS = 500

/** Upstream counts to its limit better than we do: of what is limited, our count may be twice its own. */
const TRUST = 2

/** Keeps a stream within the money that is held for it: the next window is held ahead of need, as tokens flow. */
export class Meter {
  private readonly metered: Metered
  private readonly ledger: Ledger
  /** What the ledger holds, and what it has not been able to say anything about. */
  private held: Nanos
  private credit = ZERO
  private promptCost: Nanos
  /** The upstream's own counters that the prompt was priced with. */
  private reported: Usage | undefined
  /** The output that is paid for, once the prompt is. */
  private coveredTokens: number
  /** Up to this length of the answer the money lasts, and no more need be asked for; unless something is counted anew. */
  carefreeCharacters = -1
  private asking: Promise<void> | undefined
  private wasRefused = false
  /** The ledger is away, and there is no credit left. */
  private isStuck = false

  constructor(metered: Metered, ledger: Ledger) {
    const { held, price, promptEstimate } = metered
    this.metered = metered
    this.ledger = ledger
    this.held = held
    this.promptCost = cost({ ...NO_USAGE, input: promptEstimate }, price)
    this.coveredTokens = affordableOutput(held, this.promptCost, price)
  }

  /** Whether all that was relayed is paid for; asks for more in good time. */
  covers(seen: Seen): boolean {
    if (seen.usage !== this.reported) this.recount(seen)
    // This is asked for every frame, and nearly always there is nothing more to it.
    if (seen.characters <= this.carefreeCharacters) return true
    const used = this.outputOf(seen)
    const mayGrow = this.coveredTokens < this.metered.limitTokens && !this.wasRefused && !this.isStuck
    if (mayGrow && this.coveredTokens - used < AHEAD_TOKENS) this.ask(used)
    // However it is counted, a character is not more than a token.
    const room = this.coveredTokens - this.highestOf(seen) - (mayGrow ? AHEAD_TOKENS : 0)
    this.carefreeCharacters = seen.characters + room
    return used <= this.coveredTokens
  }

  /** Waits for the next window, or for what one frame has filled; false if there is no money for it. */
  async extend(seen: Seen): Promise<boolean> {
    const begun = performance.now()
    for (;;) {
      // Asked again even if it was refused a while ago: money may have come since.
      await this.ask(this.outputOf(seen))
      if (this.covers(seen) || this.wasRefused) return this.covers(seen)
      if (!this.isStuck) continue
      if (performance.now() - begun > PATIENCE_MS) throw new GatewayError({ kind: 'ledger-unavailable' })
      await Bun.sleep(ASK_AGAIN_MS)
    }
  }

  /** What ends a stream that is not covered. */
  get shortage(): Shortage {
    const { ceiling } = this.metered
    return ceiling !== undefined && this.held >= ceiling ? 'ceiling' : 'funds'
  }

  /** What an answer is charged that has ended by itself, and how: the ceiling holds, whatever upstream counts at last. */
  conclude(counted: Counted, ending: Ending | undefined): { counted: Counted; ending: Ending | undefined } {
    const confined = this.confine(counted)
    if (!this.isAboveCeiling(counted.usage)) return { counted: confined, ending }
    const { price, onExcess } = this.metered
    onExcess?.(nanos(cost(counted.usage, price) - cost(confined.usage, price)))
    return { counted: confined, ending: 'ceiling' }
  }

  /** Upstream's count is charged as it is, up to a ceiling; our own, which may be too high, never beyond what is held. */
  confine(counted: Counted): Counted {
    return counted.source === 'upstream' ? this.withinCeiling(counted) : this.withinHold(counted)
  }

  /** What a stream that ended for want of money is charged: what was counted, and no more than was held. */
  withinHold({ usage, source }: Counted): Counted {
    const output = Math.min(usage.output, this.coveredTokens)
    return this.withinCeiling({ source, usage: { ...usage, output, reasoning: Math.min(usage.reasoning, output) } })
  }

  private withinCeiling(counted: Counted): Counted {
    const { ceiling, price } = this.metered
    if (ceiling === undefined || !this.isAboveCeiling(counted.usage)) return counted
    return { usage: affordableUsage(counted.usage, ceiling, price), source: 'counted' }
  }

  private isAboveCeiling(usage: Usage): boolean {
    const { ceiling, price } = this.metered
    return ceiling !== undefined && cost(usage, price) > ceiling
  }

  private ask(used: number): Promise<void> {
    this.asking ??= this.requestWindow(used).finally(() => {
      this.asking = undefined
    })
    return this.asking
  }

  /** All that is left is taken if there is less: what was relayed is then paid for as far as the money goes. */
  private async requestWindow(used: number): Promise<void> {
    const { requestId, price, limitTokens } = this.metered
    const target = Math.max(used + BEYOND_TOKENS, Math.min(this.coveredTokens + STREAM_WINDOW_TOKENS, limitTokens))
    // The prompt is part of it: upstream may have counted more of it than we estimated.
    const missing = nanos(this.promptCost + cost({ ...NO_USAGE, output: target }, price) - this.held)
    const most = this.withinRoom(missing)
    this.wasRefused = missing > ZERO && most <= ZERO
    if (most > ZERO) {
      try {
        // What goes on credit so far is asked for as well.
        const held = await this.ledger.extend({ requestId, most: nanos(this.credit + most), least: nanos(1n) })
        this.decide(held)
      } catch {
        this.lend(most)
      }
    }
    this.cover(affordableOutput(this.held, this.promptCost, price))
  }

  private decide(held: Nanos | undefined): void {
    this.isStuck = false
    this.wasRefused = held === undefined
    if (held === undefined) return
    const promised = this.held
    // Less than was promised meanwhile: what was relayed for it is charged all the same.
    this.wasRefused = held < promised
    this.held = held < promised ? promised : held
    this.credit = nanos(this.held - held)
  }

  private lend(amount: Nanos): void {
    const room = nanos(cost({ ...NO_USAGE, output: CREDIT_TOKENS }, this.metered.price) - this.credit)
    const lent = amount < room ? amount : room
    this.isStuck = lent <= ZERO
    if (this.isStuck) return
    this.held = nanos(this.held + lent)
    this.credit = nanos(this.credit + lent)
  }

  private cover(tokens: number): void {
    this.coveredTokens = tokens
    this.carefreeCharacters = -1
  }

  /** No more is ever held than the caller would pay. */
  private withinRoom(amount: Nanos): Nanos {
    const { ceiling } = this.metered
    if (ceiling === undefined) return amount
    const room = nanos(ceiling - this.held)
    return amount < room ? amount : room
  }

  private recount(seen: Seen): void {
    const { price, promptEstimate } = this.metered
    this.reported = seen.usage
    this.promptCost = cost({ ...count(seen, promptEstimate).usage, output: 0 }, price)
    this.cover(affordableOutput(this.held, this.promptCost, price))
  }

  /**
   * What was relayed, or what upstream says it has made so far. Digits and code have more tokens than their length tells,
   * but a piece is a token at least: money is held for the highest count, a bill of ours is made of the length alone.
   */
  private outputOf(seen: Seen): number {
    const all = this.highestOf(seen)
    if (all > this.ceilingTokens) return all
    return Math.max(tokensOf(seen.thought) + this.trusted(speechOf(seen)), seen.usage?.output ?? 0)
  }

  /** The same, with no trust in upstream. */
  private highestOf(seen: Seen): number {
    return Math.max(tokensOf(seen.thought) + speechOf(seen), seen.usage?.output ?? 0)
  }

  /** Upstream is told how far an answer may go; only if it goes on and on does it not care. Reasoning has no such limit. */
  private trusted(speech: number): number {
    const { limitTokens } = this.metered
    return speech <= limitTokens * TRUST ? Math.min(speech, limitTokens) : speech
  }

  private get ceilingTokens(): number {
    const { ceiling, price } = this.metered
    return ceiling === undefined ? Number.POSITIVE_INFINITY : affordableOutput(ceiling, this.promptCost, price)
  }
}

const tokensOf = (size: Seen['thought']): number => Math.max(estimateTokens(size), size.pieces)

const speechOf = (seen: Seen): number =>
  tokensOf({
    characters: seen.characters - seen.thought.characters,
    bytes: seen.bytes - seen.thought.bytes,
    pieces: seen.pieces - seen.thought.pieces,
  })
