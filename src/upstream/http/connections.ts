import { Connection } from './connection.ts'
import type { Origin } from './origin.ts'

/** Whoever waits for a connection. */
export interface Waiting {
  connected(connection: Connection): void
  refused(error: Error): void
}

/** Idle ones that are kept for an origin; a burst of more closes what it has opened. */
const KEPT_MAX = 1_000
/** Less than what servers and proxies in between give an idle connection: they close theirs without a word. */
const KEPT_MS = 50_000
const SWEEP_MS = 10_000
/**
 * Connections to one origin that are being opened: the runtime cannot call one off before the other side has answered at
 * all, and the system waits two minutes for that. Whoever comes when there are as many waits for one of them.
 */
const OPENING_MAX = 256

/** What leads to one origin. */
class Place {
  readonly kept: Connection[] = []
  readonly waiting = new Set<Waiting>()
  /** One for each who waits, if there may be as many. */
  readonly opening = new Set<Connection>()
  /**
   * Those that nobody waits for any more, and that cannot be called off. They are kept if they come to something, but not
   * counted on: one whose first packets were lost asks again only after a minute, where a new one is let in at once.
   */
  readonly abandoned = new Set<Connection>()
}

/** Connections to upstreams: kept after an answer, and used again, the latest first. */
export class Connections {
  private readonly places = new Map<string, Place>()
  private sweeping: ReturnType<typeof setInterval> | undefined

  /** Asks for a connection; one that is kept is there at once. */
  ask(origin: Origin, waiting: Waiting): void {
    const place = this.placeOf(origin)
    const kept = place.kept.pop()
    if (kept) {
      waiting.connected(kept)
      return
    }
    place.waiting.add(waiting)
    this.open(origin, place)
  }

  /** Nobody waits any more. */
  forget(origin: Origin, waiting: Waiting): void {
    const place = this.places.get(origin.name)
    if (!place?.waiting.delete(waiting) || place.opening.size <= place.waiting.size) return
    const reached = place.opening.values().find(({ isReached }) => isReached)
    if (!reached) {
      this.abandon(place)
      return
    }
    place.opening.delete(reached)
    reached.drop(new Error('Nobody waits for the connection'))
  }

  /** The one that has tried longest. */
  private abandon({ opening, abandoned }: Place): void {
    const connection = shift(opening)
    if (!connection) return
    connection.idleSince = performance.now()
    abandoned.add(connection)
    this.startSweeping()
  }

  /** A connection that has done its work. */
  keep(connection: Connection): void {
    const place = this.placeOf(connection.origin)
    const next = shift(place.waiting)
    if (place.opening.size > place.waiting.size) this.abandon(place)
    if (next) next.connected(connection)
    else if (place.kept.length >= KEPT_MAX) connection.drop(new Error('There are enough connections'))
    else this.store(connection, place)
  }

  private store(connection: Connection, { kept }: Place): void {
    connection.idle(performance.now())
    kept.push(connection)
    this.startSweeping()
  }

  /** A kept one that should not have been; one that is in use again has been found good. */
  discard(connection: Connection): void {
    const { kept } = this.placeOf(connection.origin)
    if (kept.includes(connection)) connection.drop(new Error('The connection cannot be trusted'))
  }

  dropKept(origin: Origin): void {
    const { kept } = this.placeOf(origin)
    for (const connection of kept.splice(0)) connection.drop(new Error('The connection is most likely closed'))
  }

  private open(origin: Origin, place: Place): void {
    const { waiting, opening, abandoned } = place
    while (opening.size < waiting.size && opening.size + abandoned.size < OPENING_MAX) {
      const connection = new Connection(origin, {
        opened: error => this.opened(connection, place, error),
        closed: () => this.closed(connection),
      })
      opening.add(connection)
    }
  }

  private opened(connection: Connection, place: Place, error: Error | undefined): void {
    const isAwaited = place.opening.delete(connection)
    if (!isAwaited && !place.abandoned.delete(connection)) return
    if (!error) this.keep(connection)
    else if (isAwaited) shift(place.waiting)?.refused(error)
    this.open(connection.origin, place)
  }

  private closed(connection: Connection): void {
    const { kept } = this.placeOf(connection.origin)
    const at = kept.indexOf(connection)
    if (at !== -1) kept.splice(at, 1)
  }

  private startSweeping(): void {
    this.sweeping ??= setInterval(() => this.sweep(), SWEEP_MS).unref()
  }

  private sweep(): void {
    const oldest = performance.now() - KEPT_MS
    for (const [name, place] of this.places) {
      // The oldest stand first.
      const count = place.kept.findIndex(({ idleSince }) => idleSince > oldest)
      const old = place.kept.splice(0, count === -1 ? place.kept.length : count)
      // One that was let in, and then left without a word: the system does not end it.
      for (const connection of place.abandoned) {
        if (connection.isReached && connection.idleSince < oldest) old.push(connection)
      }
      for (const connection of old) connection.drop(new Error('The connection was idle'))
      if (isEmpty(place)) this.places.delete(name)
    }
    if (this.places.size > 0) return
    clearInterval(this.sweeping)
    this.sweeping = undefined
  }

  private placeOf({ name }: Origin): Place {
    const known = this.places.get(name)
    if (known) return known
    const place = new Place()
    this.places.set(name, place)
    return place
  }
}

const isEmpty = ({ kept, waiting, opening, abandoned }: Place): boolean =>
  kept.length + waiting.size + opening.size + abandoned.size === 0

/** The one that has been in there for longest. */
function shift<T>(all: Set<T>): T | undefined {
  for (const first of all) {
    all.delete(first)
    return first
  }
  return undefined
}
