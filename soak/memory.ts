import { footprintOf } from '../test/faults/table/footprint.ts'
import type { Duet } from '../test/support/duet.ts'

const EVERY_MS = 1_000

const MEGABYTE = 1024 * 1024
/** A heap breathes by some tens of megabytes; what leaks with every request comes to more than that in a minute. */
const GROWTH_BYTES_MAX = 32 * MEGABYTE

/** How much memory a process has from its start on, a look a second. */
export class Memory {
  private readonly samples: number[] = []
  private readonly timer: ReturnType<typeof setInterval>

  constructor(duet: Duet) {
    const look = async () => {
      this.samples.push((await footprintOf(duet)).residentBytes)
    }
    // One that does not answer is found by those who call it.
    this.timer = setInterval(() => look().catch(() => {}), EVERY_MS)
  }

  end(): void {
    clearInterval(this.timer)
  }

  get now(): string {
    return megabytes(this.samples.at(-1) ?? 0)
  }

  /** The first third is the warm-up; of the rest, the second half must be like the first. */
  growth(): [isFlat: boolean, text: string] {
    const warm = this.samples.slice(this.samples.length / 3)
    const [before, after] = [median(warm.slice(0, warm.length / 2)), median(warm.slice(warm.length / 2))]
    const limit = `${megabytes(GROWTH_BYTES_MAX)} more would be too much`
    return [
      after - before < GROWTH_BYTES_MAX,
      `${megabytes(before)} when warm, ${megabytes(after)} at the end; ${limit}`,
    ]
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const megabytes = (bytes: number): string => `${Math.round(bytes / MEGABYTE)} MB`
