/** Numbers that look random and are the same in every run. */
export class Chance {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** From 0 to below 1. */
  next(): number {
    this.state = (this.state + 0x9e3779b9) >>> 0
    let mixed = this.state
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }

  /** Of things that happen so often on average, and know nothing of each other: how long until the next. */
  wait(mean: number): number {
    return -mean * Math.log(1 - this.next())
  }

  below(count: number): number {
    return Math.floor(this.next() * count)
  }
}

/** Who asks: one account alone, all of them alike, or few of them often and most of them seldom. */
export type Spread = 'one' | 'even' | 'zipf'

/** Returns the number of an account. */
export function accountsOf(spread: Spread, count: number, chance: Chance): () => number {
  switch (spread) {
    case 'one':
      return () => 0
    case 'even':
      return () => chance.below(count)
    case 'zipf':
      return zipf(count, chance)
  }
}

/** The second asks half as often as the first, the third a third as often, and so on. */
function zipf(count: number, chance: Chance): () => number {
  let sum = 0
  const upTo = Float64Array.from({ length: count }, (_, place) => {
    sum += 1 / (place + 1)
    return sum
  })
  return () => {
    const wanted = chance.next() * sum
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((upTo[middle] as number) > wanted) high = middle
      else low = middle + 1
    }
    return low
  }
}
