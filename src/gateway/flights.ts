import { GatewayError } from '../core/failure.ts'

/** One request under way: cut when the caller leaves or will wait no longer, and when the gateway will not. */
export interface Flight {
  /** For one upstream call of it; there is one at a time. */
  call(): AbortController
  /** Nobody waits any more. */
  readonly isCut: boolean
  /** The answer is on its way: the caller waits as long as something comes. */
  answered(): void
  /** Called once the request is settled; nothing refers to it any more then. */
  end(): void
}

interface Passenger {
  /** Aborted when the client has left. */
  readonly signal: AbortSignal
  /** How long the caller waits for an answer to begin; undefined where nobody has said. */
  readonly waitsMs: number | undefined
}

type Cut = (reason: GatewayError) => void

/** All requests that have an upstream call under way. */
export class Flights {
  private readonly flying = new Set<Cut>()
  private stopped: GatewayError | undefined

  begin({ signal, waitsMs }: Passenger): Flight {
    let current: AbortController | undefined
    let cutBy: GatewayError | undefined
    const cut: Cut = reason => {
      cutBy ??= reason
      current?.abort(cutBy)
    }
    const leave = () => cut(new GatewayError({ kind: 'client-gone' }))
    if (signal.aborted) leave()
    if (this.stopped) cut(this.stopped)
    signal.addEventListener('abort', leave, { once: true })
    const timer =
      waitsMs === undefined
        ? undefined
        : setTimeout(() => cut(new GatewayError({ kind: 'upstream-timeout', phase: 'caller' })), waitsMs)
    this.flying.add(cut)
    return {
      call: () => {
        current = new AbortController()
        if (cutBy) current.abort(cutBy)
        return current
      },
      get isCut() {
        return cutBy !== undefined
      },
      answered: () => clearTimeout(timer),
      end: () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        this.flying.delete(cut)
      },
    }
  }

  get count(): number {
    return this.flying.size
  }

  /** A stopping gateway ends what is still under way, or begins now; each call reports it to its caller and settles. */
  cut(): void {
    this.stopped = new GatewayError({ kind: 'shutting-down' })
    for (const cut of this.flying) cut(this.stopped)
  }
}
