import { type ConsoleDeps, isBareVisit, isConsole, showConsole, toConsole } from './console.ts'
import { type InspectDeps, inspect } from './inspect.ts'
import { administer, type ManageDeps } from './manage.ts'
import { addressOf } from './path.ts'
import { NO_HEADERS, OPEN_TO_BROWSERS, preflight, withoutBody } from './reply.ts'
import { isForBrowsers, type RouteDeps, visit } from './routes.ts'

export type EdgeDeps = RouteDeps & ManageDeps & InspectDeps & ConsoleDeps

/** Every request of the outside world comes in here. */
export function handle(request: Request, deps: EdgeDeps, address: () => string): Response | Promise<Response> {
  if (request.method === 'HEAD') return headersOnly(request, deps, address)
  const from = addressOf(request.url)
  const { path } = from
  if (path === '/api' || path.startsWith('/api/')) return administer({ request, from, address }, deps)
  if (isConsole(path)) return showConsole(request, path, deps)
  if (isBareVisit(request, path)) return toConsole()
  if (path.startsWith('/health/') || path === '/metrics') return inspect(request.method, path, deps)
  if (!isForBrowsers(path)) return visit({ request, path, headers: NO_HEADERS }, deps)
  if (request.method === 'OPTIONS' && request.headers.has('access-control-request-method')) return preflight(request)
  return visit({ request, path, headers: OPEN_TO_BROWSERS }, deps)
}

/** The same question, for those who want the headers of its answer only: whatever would go on after them is ended. */
async function headersOnly({ url, headers }: Request, deps: EdgeDeps, address: () => string): Promise<Response> {
  const leaving = new AbortController()
  const whole = url.startsWith('/') ? `http://localhost${url}` : url
  const response = await handle(new Request(whole, { headers, signal: leaving.signal }), deps, address)
  const answer = await withoutBody(response)
  leaving.abort()
  return answer
}
