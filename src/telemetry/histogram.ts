import type { Sample } from './prometheus.ts'

/** Seconds. Few, because each of them is a line for each channel: from a cached word to the longest thoughts. */
const BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** How long things took. */
export class Histogram {
  /** Of each bound, those above the one before it; the last are beyond all bounds. */
  private readonly counts = new Float64Array(BOUNDS.length + 1)
  private sumMs = 0

  observe(ms: number): void {
    const seconds = ms / 1_000
    let place = 0
    while (seconds > (BOUNDS[place] ?? Number.POSITIVE_INFINITY)) place++
    this.counts[place] = (this.counts[place] ?? 0) + 1
    this.sumMs += ms
  }

  samples(labels: Readonly<Record<string, string>>): Sample[] {
    let value = 0
    const buckets = [...BOUNDS, '+Inf'].map((le, place) => {
      value += this.counts[place] ?? 0
      return { suffix: '_bucket', labels: { ...labels, le }, value }
    })
    return [...buckets, { suffix: '_sum', labels, value: this.sumMs / 1_000 }, { suffix: '_count', labels, value }]
  }
}
