import { type InspectDeps, inspect } from './inspect.ts'
import { administer, type ManageDeps } from './manage.ts'
import { pathOf } from './path.ts'
import { preflight, withoutBody } from './reply.ts'
import { type RouteDeps, visit } from './routes.ts'

export type EdgeDeps = RouteDeps & ManageDeps & InspectDeps

/** Every request of the outside world comes in here. */
export async function handle(request: Request, deps: EdgeDeps): Promise<Response> {
  const path = pathOf(request.url)
  if (request.method === 'HEAD') {
    const asGet = new Request(request.url, { method: 'GET', headers: request.headers })
    return withoutBody(await handle(asGet, deps))
  }
  if (path === '/api' || path.startsWith('/api/')) return administer(request, path.slice(4), deps)
  if (path.startsWith('/health/') || path === '/metrics') return inspect(request.method, path, deps)
  if (request.method === 'OPTIONS' && request.headers.has('access-control-request-method')) return preflight(request)
  return visit(request, path, deps)
}
