import { GatewayError } from '../core/failure.ts'

/** One upstream call under way: aborted when the caller leaves or the gateway will wait no longer. */
export interface Flight {
  readonly abort: AbortController
  /** Called once the request is settled; nothing refers to it any more then. */
  end(): void
}

/** All upstream calls under way. */
export class Flights {
  private readonly flying = new Set<AbortController>()

  begin(clientGone: AbortSignal): Flight {
    const abort = new AbortController()
    const leave = () => abort.abort(new GatewayError({ kind: 'client-gone' }))
    if (clientGone.aborted) leave()
    clientGone.addEventListener('abort', leave, { once: true })
    this.flying.add(abort)
    return {
      abort,
      end: () => {
        clientGone.removeEventListener('abort', leave)
        this.flying.delete(abort)
      },
    }
  }

  /** A stopping gateway ends what is still under way; each call reports it to its caller and settles. */
  cut(): void {
    for (const abort of this.flying) abort.abort(new GatewayError({ kind: 'shutting-down' }))
  }
}
