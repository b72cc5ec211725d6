const MINUTE_MS = 60_000
/** Requests this close together are remembered as one span: a minute has some 120 of them, however many requests came. */
const SPAN_MS = 500

interface Span extends Others {
  readonly from: number
  last: number
  count: number
}

/** Requests that came to other replicas, close together. */
export interface Others {
  /** When the last of them came. */
  readonly last: number
  readonly count: number
}

/**
 * How many requests came within the last minute, at any moment: a count that starts anew with each minute of the clock
 * would let twice as many pass around its edge, and so would a bucket that refills while it is emptied. A request counts
 * for a minute and at most half a second more, because a span is forgotten with the last of its requests.
 */
export class LastMinute {
  private readonly spans: Span[] = []
  private count = 0

  add(now: number): void {
    const newest = this.spans.at(-1)
    this.count++
    if (newest === undefined || now - newest.from >= SPAN_MS) {
      this.spans.push({ from: now, last: now, count: 1 })
      return
    }
    newest.last = now
    newest.count++
  }

  isEmpty(now: number): boolean {
    this.forget(now)
    return this.count === 0
  }

  /** From the oldest on. */
  recent(now: number): readonly Others[] {
    this.forget(now)
    return this.spans
  }

  /** How long it takes until there are fewer than so many, those of others included. */
  msUntilBelow(limit: number, now: number, others: readonly Others[] = []): number {
    this.forget(now)
    const alive = others.filter(({ last }) => last + MINUTE_MS > now)
    const all = alive.length === 0 ? this.spans : [...this.spans, ...alive].sort((a, b) => a.last - b.last)
    let left = alive.reduce((sum, { count }) => sum + count, this.count)
    let waitMs = 0
    for (const { last, count } of all) {
      if (left < limit) break
      left -= count
      waitMs = last + MINUTE_MS - now
    }
    return waitMs
  }

  private forget(now: number): void {
    for (let [oldest] = this.spans; oldest && oldest.last + MINUTE_MS <= now; [oldest] = this.spans) {
      this.count -= oldest.count
      this.spans.shift()
    }
  }
}
