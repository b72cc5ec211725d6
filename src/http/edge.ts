import { type InspectDeps, inspect } from './inspect.ts'
import { administer, type ManageDeps } from './manage.ts'
import { addressOf } from './path.ts'
import { openToBrowsers, preflight, withoutBody } from './reply.ts'
import { isForBrowsers, type RouteDeps, visit } from './routes.ts'

export type EdgeDeps = RouteDeps & ManageDeps & InspectDeps

/** Every request of the outside world comes in here. */
export async function handle(request: Request, deps: EdgeDeps): Promise<Response> {
  if (request.method === 'HEAD') return withoutBody(await handle(asGet(request), deps))
  const address = addressOf(request.url)
  const { path } = address
  if (path === '/api' || path.startsWith('/api/')) return administer(request, address, deps)
  if (path.startsWith('/health/') || path === '/metrics') return inspect(request.method, path, deps)
  if (!isForBrowsers(path)) return visit(request, path, deps)
  if (request.method === 'OPTIONS' && request.headers.has('access-control-request-method')) return preflight(request)
  return openToBrowsers(await visit(request, path, deps))
}

/** The same question, for those who want the headers of its answer only. */
function asGet({ url, headers }: Request): Request {
  return new Request(url.startsWith('/') ? `http://localhost${url}` : url, { headers })
}
