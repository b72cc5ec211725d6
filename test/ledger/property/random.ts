/** Chance that can be repeated: the same seed makes the same run (mulberry32). */
export class Random {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** At least 0, below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = this.state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Both ends included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  /** At least 0, at most `most`. */
  amount(most: bigint): bigint {
    return most <= 0n ? 0n : BigInt(Math.floor(this.next() * (Number(most) + 1)))
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T
  }

  /** One of the names, as often as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const rows = Object.entries(weights) as [Name, number][]
    let rest = this.next() * rows.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of rows) {
      rest -= weight
      if (rest < 0) return name
    }
    return (rows.at(-1) as [Name, number])[0]
  }
}

/** Every epoch has a generator of its own, so that one of them can be repeated without those before it. */
export const randomOfEpoch = (seed: number, epoch: number): Random =>
  new Random(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(epoch + 1, 0xc2b2ae35))
