import type { Metrics } from '../telemetry/metrics.ts'
import { type Family, render } from '../telemetry/prometheus.ts'

export interface InspectDeps {
  readonly metrics: Pick<Metrics, 'families'>
  /** Set where others share the port: the figures of all of them. */
  readonly exposed?: (() => Promise<readonly Family[]>) | undefined
  readonly isReady: () => boolean
  readonly isLedgerAvailable: () => boolean
}

const METRICS_TYPE = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

/** For load balancers and Prometheus: no credential, no secret, and nothing for browsers. */
export function inspect(method: string, path: string, deps: InspectDeps): Response | Promise<Response> {
  switch (method === 'GET' && path) {
    case '/health/live':
      return Response.json({ status: 'ok' })
    case '/health/ready':
      return readiness(deps)
    case '/metrics':
      return expose(deps)
    default:
      return Response.json({ error: { code: 'not_found', message: `no ${method} ${path}` } }, { status: 404 })
  }
}

/** What is known anyway: whoever asks every second, from everywhere, must not be work for the store. */
function readiness({ isReady, isLedgerAvailable }: InspectDeps): Response {
  if (!isReady()) return Response.json({ status: 'stopping' }, { status: 503 })
  if (!isLedgerAvailable()) return Response.json({ status: 'unavailable', ledger: 'unavailable' }, { status: 503 })
  return Response.json({ status: 'ok' })
}

async function expose({ metrics, exposed }: InspectDeps): Promise<Response> {
  return new Response(render(exposed ? await exposed() : metrics.families()), { headers: METRICS_TYPE })
}
