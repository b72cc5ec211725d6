interface Appointment {
  readonly at: number
  /** Of two at one moment, the one that was made first comes first: a run can be repeated. */
  readonly order: number
  readonly happen: () => void
}

/** Time that passes from one event to the next. Microseconds. */
export class Agenda {
  now = 0
  /** A heap: no appointment is before the one at half its place. */
  private readonly heap: Appointment[] = []
  private made = 0

  after(delay: number, happen: () => void): void {
    let place = this.heap.length
    const appointment = { at: this.now + delay, order: this.made++, happen }
    this.heap.push(appointment)
    while (place > 0) {
      const above = (place - 1) >> 1
      if (!isBefore(appointment, this.at(above))) break
      this.heap[place] = this.at(above)
      place = above
    }
    this.heap[place] = appointment
  }

  /** Until nothing is left to happen, or it is too late. */
  run(until: number): void {
    for (let next = this.take(); next && next.at <= until; next = this.take()) {
      this.now = next.at
      next.happen()
    }
  }

  private take(): Appointment | undefined {
    const [first] = this.heap
    const last = this.heap.pop()
    if (!first || !last || this.heap.length === 0) return first
    let place = 0
    for (;;) {
      const left = 2 * place + 1
      if (left >= this.heap.length) break
      const right = left + 1
      const lesser = right < this.heap.length && isBefore(this.at(right), this.at(left)) ? right : left
      if (!isBefore(this.at(lesser), last)) break
      this.heap[place] = this.at(lesser)
      place = lesser
    }
    this.heap[place] = last
    return first
  }

  private at(place: number): Appointment {
    return this.heap[place] as Appointment
  }
}

const isBefore = (one: Appointment, other: Appointment): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)
