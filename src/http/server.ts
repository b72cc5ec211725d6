import { type EdgeDeps, handle } from './edge.ts'
import { withFarewell } from './farewell.ts'

export interface Listening {
  readonly url: string
  /** Lets what is under way finish, within the limit; then cuts it, settled. */
  drain(drain: Drain): Promise<void>
}

export interface Drain {
  readonly limitMs: number
  /** Aborted when nobody wants to wait any longer. */
  readonly hurry: AbortSignal
  /** Some calls go on although their callers, and with them their connections, have gone. */
  isIdle(): boolean
  cut(): void
}

const DRAIN_POLL_MS = 20
/** After the cut, what remains is writing error frames and settlements; some do not read theirs. */
const CUT_GRACE_MS = 5_000
const HURRIED_GRACE_MS = 500

interface Place {
  readonly host: string
  readonly port: number
  /** Whether other processes listen there, too. */
  readonly isShared?: boolean
  /** Whether `x-forwarded-for` is believed. */
  readonly trustsProxy: boolean
}

export function listen(place: Place, deps: Omit<EdgeDeps, 'isReady' | 'stopping'>): Listening {
  const { host, port, isShared = false, trustsProxy } = place
  const stopping = new AbortController()
  const { idleSeconds } = deps.limits
  const edge: EdgeDeps = { ...deps, stopping: stopping.signal, isReady: () => !stopping.signal.aborted }
  const server = Bun.serve({
    hostname: host,
    port,
    // Headers have less: the runtime gives the first ones of a connection 10 seconds, however busy their sender is.
    idleTimeout: idleSeconds,
    // Its page for errors shows source and folders to whoever caused one.
    development: false,
    // Without development it would share any port that is taken, and half of the requests would go elsewhere.
    reusePort: isShared,
    // Ours is enforced on the decoded body, after the credential was checked.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request, server) {
      // Time limits are ours while a request is under way: a long thought is silent for minutes.
      server.timeout(request, 0)
      const peer = () => server.requestIP(request)?.address ?? ''
      const address = () => (trustsProxy ? (forwardedFor(request.headers) ?? peer()) : peer())
      const response = await handle(request, edge, address)
      // From here on, a connection that nothing moves on is cut, whether it is idle or its client does not read.
      server.timeout(request, idleSeconds)
      const isLast = stopping.signal.aborted || response.status === 408
      return isLast ? withFarewell(request, response) : response
    },
  })
  return {
    url: server.url.origin,
    async drain({ limitMs, hurry, isIdle, cut }) {
      // The door stays open for health checks, which tell load balancers to go elsewhere; new work is refused.
      stopping.abort()
      const isDone = () => server.pendingRequests === 0 && isIdle()
      await settled(isDone, () => (hurry.aborted ? 0 : limitMs))
      cut()
      await settled(isDone, () => (hurry.aborted ? HURRIED_GRACE_MS : CUT_GRACE_MS))
      await server.stop(true)
    },
  }
}

async function settled(isDone: () => boolean, limitMs: () => number): Promise<void> {
  const begun = performance.now()
  while (!isDone() && performance.now() - begun < limitMs()) await Bun.sleep(DRAIN_POLL_MS)
}

/** The last one is what our own proxy has seen; those before it are whatever somebody wrote. */
const forwardedFor = (headers: Headers): string | undefined =>
  headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() || undefined
