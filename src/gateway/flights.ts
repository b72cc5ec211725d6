import { Abort } from '../core/abort.ts'
import { GatewayError } from '../core/failure.ts'

interface Passenger {
  /** Aborted when the client has left. */
  readonly signal: AbortSignal
  /** How long the caller waits for an answer to begin; undefined where nobody has said. */
  readonly waitsMs: number | undefined
}

/** One request under way: cut when the caller leaves or will wait no longer, and when the gateway will not. */
export class Flight {
  private readonly flying: Set<Flight>
  private readonly signal: AbortSignal
  private readonly timer: ReturnType<typeof setTimeout> | undefined
  private current: Abort | undefined
  private cutBy: GatewayError | undefined

  constructor({ signal, waitsMs }: Passenger, flying: Set<Flight>) {
    this.flying = flying
    this.signal = signal
    if (waitsMs !== undefined) {
      const late = () => this.cut(new GatewayError({ kind: 'upstream-timeout', phase: 'caller' }))
      this.timer = setTimeout(late, waitsMs)
    }
    flying.add(this)
    signal.addEventListener('abort', this.leave)
    if (signal.aborted) this.leave()
  }

  /** For one upstream call of it; there is one at a time. */
  call(): Abort {
    this.current = new Abort()
    if (this.cutBy) this.current.abort(this.cutBy)
    return this.current
  }

  /** Nobody waits any more. */
  get isCut(): boolean {
    return this.cutBy !== undefined
  }

  cut(reason: GatewayError): void {
    this.cutBy ??= reason
    this.current?.abort(this.cutBy)
  }

  /** The answer is on its way: the caller waits as long as something comes. */
  answered(): void {
    clearTimeout(this.timer)
  }

  /** Called once the request is settled; nothing refers to it any more then. */
  end(): void {
    clearTimeout(this.timer)
    this.signal.removeEventListener('abort', this.leave)
    this.flying.delete(this)
  }

  private readonly leave = (): void => this.cut(new GatewayError({ kind: 'client-gone' }))
}

/** All requests that have an upstream call under way. */
export class Flights {
  private readonly flying = new Set<Flight>()
  private stopped: GatewayError | undefined

  begin(passenger: Passenger): Flight {
    const flight = new Flight(passenger, this.flying)
    if (this.stopped) flight.cut(this.stopped)
    return flight
  }

  get count(): number {
    return this.flying.size
  }

  /** A stopping gateway ends what is still under way, or begins now; each call reports it to its caller and settles. */
  cut(): void {
    this.stopped = new GatewayError({ kind: 'shutting-down' })
    for (const flight of this.flying) flight.cut(this.stopped)
  }
}
