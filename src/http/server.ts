import type { Server } from 'bun'
import { type EdgeDeps, handle } from './edge.ts'

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

interface Place {
  readonly host: string
  readonly port: number
  /** Whether `x-forwarded-for` is believed. */
  readonly trustsProxy: boolean
}

export function listen({ host, port, trustsProxy }: Place, deps: Omit<EdgeDeps, 'isReady' | 'stopping'>): Listening {
  const stopping = new AbortController()
  const edge: EdgeDeps = { ...deps, stopping: stopping.signal, isReady: () => !stopping.signal.aborted }
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: IDLE_SECONDS_MAX,
    // Its page for errors shows source and folders to whoever caused one.
    development: false,
    // Without development it would share a port that is taken, and half of the requests would go elsewhere.
    reusePort: false,
    // Ours is enforced on the decoded body, after the credential was checked.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request, server) {
      // Time limits are ours while a request is under way: a long thought is silent for minutes.
      server.timeout(request, 0)
      const peer = () => server.requestIP(request)?.address ?? ''
      const address = () => (trustsProxy ? (forwardedFor(request.headers) ?? peer()) : peer())
      const response = await handle(request, edge, address)
      // A stream is never silent that long; an idle connection is.
      server.timeout(request, IDLE_SECONDS_MAX)
      return response
    },
  })
  return {
    url: server.url.origin,
    async drain(limitMs, cut) {
      // The door stays open for health checks, which tell load balancers to go elsewhere; new work is refused.
      stopping.abort()
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

/** The last one is what our own proxy has seen; those before it are whatever somebody wrote. */
const forwardedFor = (headers: Headers): string | undefined =>
  headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() || undefined
