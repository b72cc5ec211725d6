import type { Server } from 'bun'
import { newRequestId } from '../core/ids.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import { type EdgeDeps, handle } from './edge.ts'
import { refuse } from './reply.ts'

export interface Listening {
  readonly url: string
  /** Lets what is under way finish, within the limit; then cuts it, settled. */
  drain(limitMs: number, cut: () => void): Promise<void>
}

/** Above what load balancers keep a connection for; a client that sends no headers in that time is cut off. */
const IDLE_SECONDS_MAX = 120
const DRAIN_POLL_MS = 20
/** After the cut, what remains is writing error frames and settlements. */
const CUT_GRACE_MS = 5_000

export function listen({ host, port }: { readonly host: string; readonly port: number }, deps: EdgeDeps): Listening {
  let isDraining = false
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: IDLE_SECONDS_MAX,
    // Ours is enforced on the decoded body, after the credential was checked.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request, server) {
      if (isDraining) return refuseDraining()
      // Time limits are ours while a request is under way: a long thought is silent for minutes.
      server.timeout(request, 0)
      const response = await handle(request, { ...deps, isReady: () => deps.isReady() && !isDraining })
      // A stream is never silent that long; an idle connection is.
      server.timeout(request, IDLE_SECONDS_MAX)
      return response
    },
  })
  return {
    url: server.url.origin,
    async drain(limitMs, cut) {
      isDraining = true
      server.stop()
      await settled(server, limitMs)
      cut()
      await settled(server, CUT_GRACE_MS)
      await server.stop(true)
    },
  }
}

async function settled(server: Server<undefined>, limitMs: number): Promise<void> {
  for (let waited = 0; server.pendingRequests > 0 && waited < limitMs; waited += DRAIN_POLL_MS) {
    await Bun.sleep(DRAIN_POLL_MS)
  }
}

function refuseDraining(): Response {
  const response = refuse({ kind: 'shutting-down' }, { requestId: newRequestId(), protocol: PROTOCOLS.chat })
  response.headers.set('connection', 'close')
  return response
}
