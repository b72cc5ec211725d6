import type { Agenda } from './agenda.ts'

/** So many cores; who finds none free waits for one, in the order of their coming. */
export class Cores {
  /** Microseconds of work done, on all of them. */
  busy = 0
  private free: number
  private readonly waiting: { readonly work: number; readonly done: () => void }[] = []
  private first = 0
  private readonly agenda: Agenda

  constructor(agenda: Agenda, count: number) {
    this.agenda = agenda
    this.free = count
  }

  use(work: number, done: () => void): void {
    if (this.free === 0) {
      this.waiting.push({ work, done })
      return
    }
    this.free--
    this.begin(work, done)
  }

  private begin(work: number, done: () => void): void {
    this.agenda.after(work, () => {
      this.busy += work
      const next = this.waiting[this.first]
      if (next) {
        this.first++
        this.begin(next.work, next.done)
      } else {
        this.free++
        this.waiting.length = this.first = 0
      }
      done()
    })
  }
}

/** The log of the database: one flush at a time, and whoever comes during one shares the next. */
export class Log {
  busy = 0
  flushes = 0
  private waiting: (() => void)[] = []
  private isFlushing = false
  private readonly agenda: Agenda
  private readonly flushTakes: number

  constructor(agenda: Agenda, flushTakes: number) {
    this.agenda = agenda
    this.flushTakes = flushTakes
  }

  flush(done: () => void): void {
    this.waiting.push(done)
    if (!this.isFlushing) this.begin()
  }

  private begin(): void {
    const flushed = this.waiting
    this.waiting = []
    this.isFlushing = true
    this.agenda.after(this.flushTakes, () => {
      this.busy += this.flushTakes
      this.flushes++
      this.isFlushing = false
      if (this.waiting.length > 0) this.begin()
      for (const done of flushed) done()
    })
  }
}

/** Rows that one transaction at a time may change; the others wait in the order of their coming. */
export class RowLocks {
  private readonly rows = new Map<number, Row>()
  private readonly agenda: Agenda

  constructor(agenda: Agenda) {
    this.agenda = agenda
  }

  /** One after the other, in the order given: it is the same for all, so that no two wait for each other. */
  lockAll(rows: readonly number[], done: () => void): void {
    const lockFrom = (first: number) => {
      for (let place = first; place < rows.length; place++) {
        const row = this.row(rows[place] as number)
        if (row.since !== undefined) {
          row.waiting.push(() => lockFrom(place + 1))
          return
        }
        row.since = this.agenda.now
      }
      done()
    }
    lockFrom(0)
  }

  unlockAll(rows: readonly number[]): void {
    for (const row of rows) this.unlock(this.row(row))
  }

  /** Microseconds during which the busiest row was locked. */
  get longestLocked(): number {
    return [...this.rows.values()].reduce((most, { locked }) => Math.max(most, locked), 0)
  }

  private unlock(row: Row): void {
    row.locked += this.agenda.now - (row.since ?? this.agenda.now)
    const next = row.waiting.shift()
    // Handed on: nobody who comes meanwhile gets it first.
    row.since = next && this.agenda.now
    next?.()
  }

  private row(number: number): Row {
    const known = this.rows.get(number)
    if (known) return known
    const row = { since: undefined, locked: 0, waiting: [] }
    this.rows.set(number, row)
    return row
  }
}

interface Row {
  since: number | undefined
  locked: number
  readonly waiting: (() => void)[]
}
