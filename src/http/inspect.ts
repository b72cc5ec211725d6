import type { Metrics } from '../telemetry/metrics.ts'

export interface InspectDeps {
  readonly metrics: Metrics
  readonly isReady: () => boolean
}

const METRICS_TYPE = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

/** For load balancers and Prometheus: no credential, no secret, and nothing for browsers. */
export function inspect(method: string, path: string, { isReady, metrics }: InspectDeps): Response {
  switch (method === 'GET' && path) {
    case '/health/live':
      return Response.json({ status: 'ok' })
    case '/health/ready':
      return isReady() ? Response.json({ status: 'ok' }) : Response.json({ status: 'stopping' }, { status: 503 })
    case '/metrics':
      return new Response(metrics.expose(), { headers: METRICS_TYPE })
    default:
      return Response.json({ error: { code: 'not_found', message: `no ${method} ${path}` } }, { status: 404 })
  }
}
