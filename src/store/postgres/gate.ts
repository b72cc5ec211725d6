import { StoreUnavailable } from '../../core/store.ts'

interface Waiting<Place> {
  readonly enter: (place: Place) => void
}

/** Whoever comes when so many wait already would not be let in in time. */
const WAITING_MAX = 10_000

/** Lets in as many as there are places; whoever comes then waits for one to be free, in turn and not for ever. */
export class Gate<Place> {
  private readonly free: Place[]
  private readonly waitMsMax: number
  /** In the order in which they came. */
  private readonly waiting = new Set<Waiting<Place>>()

  constructor(places: readonly Place[], waitMsMax: number) {
    this.free = [...places]
    this.waitMsMax = waitMsMax
  }

  async through<T>(work: (place: Place) => Promise<T>): Promise<T> {
    // The one that was left last: of many places, few are ever used where few are needed.
    const place = this.free.pop() ?? (await this.turn())
    try {
      return await work(place)
    } finally {
      this.leave(place)
    }
  }

  private leave(place: Place): void {
    const [next] = this.waiting
    if (!next) {
      this.free.push(place)
      return
    }
    this.waiting.delete(next)
    next.enter(place)
  }

  private async turn(): Promise<Place> {
    if (this.waiting.size >= WAITING_MAX) throw new StoreUnavailable('too many wait for the database')
    const { promise, resolve, reject } = Promise.withResolvers<Place>()
    const waiting = { enter: resolve }
    this.waiting.add(waiting)
    const timer = setTimeout(() => {
      this.waiting.delete(waiting)
      reject(new StoreUnavailable('the database is too busy'))
    }, this.waitMsMax)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
    }
  }
}
