import type { AdminDeps, AdminReply } from '../admin/api.ts'
import { asGatewayError, GatewayError, wireOf } from '../core/failure.ts'
import { newRequestId } from '../core/ids.ts'
import { authenticate } from '../gateway/authenticate.ts'
import { listModels, showModel } from '../gateway/models.ts'
import { type Call, type Gateway, type Reply, serve } from '../gateway/serve.ts'
import type { Protocol } from '../protocol/protocol.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type BodyLimits, readBody } from './body.ts'
import { credentialOf } from './credential.ts'
import { pathOf, routePath } from './path.ts'
import { answer, preflight, refuse, withoutBody } from './reply.ts'

export interface EdgeDeps {
  readonly gateway: Gateway
  readonly admin: Omit<AdminDeps, 'catalog'>
  readonly log: Log
  readonly metrics: Metrics
  readonly isReady: () => boolean
}

/** Agents send long conversations; nobody sends more than this in earnest. */
const TURN_BODY: BodyLimits = { bytesMax: 32 * 1024 * 1024, secondsMax: 60 }
const ADMIN_BODY: BodyLimits = { bytesMax: 1024 * 1024, secondsMax: 10 }

/** A request on its way through the edge. */
interface Visit {
  readonly request: Request
  readonly call: Call
  /** The path as it was requested, for messages. */
  readonly path: string
  /** The same without prefixes and slashes at the end. */
  readonly route: string
  readonly protocol: Protocol
}

type Handler = (visit: Visit, deps: EdgeDeps) => Promise<Reply>

const turn: Handler = ({ call, protocol }, { gateway }) => serve(call, protocol, gateway)

const models: Handler = async ({ call }, { gateway }) => {
  const caller = await authenticate(call.secret, gateway)
  return { headers: {}, body: listModels(gateway.catalog(), caller) }
}

const model: Handler = async ({ request, call, path, route }, { gateway }) => {
  const caller = await authenticate(call.secret, gateway)
  const body = showModel(gateway.catalog(), caller, decodeModelId(route.slice('/models/'.length)))
  if (body === undefined) throw new GatewayError({ kind: 'route-unknown', method: request.method, path })
  return { headers: {}, body }
}

/** Section 4.4: the credential comes first, then a misleading complaint that scripts rely on. */
const unsupported: Handler = async ({ call }, { gateway }) => {
  await authenticate(call.secret, gateway)
  throw new GatewayError({ kind: 'path-unsupported' })
}

const ROUTES: Readonly<Record<string, Handler>> = {
  'POST /chat/completions': turn,
  'POST /messages': turn,
  'GET /models': models,
}

const UNSUPPORTED = new Set(['/embeddings', '/completions', '/images/generations'])

function handlerOf(method: string, route: string): Handler | undefined {
  if (UNSUPPORTED.has(route)) return unsupported
  if (method === 'GET' && route.startsWith('/models/')) return model
  return Object.hasOwn(ROUTES, `${method} ${route}`) ? ROUTES[`${method} ${route}`] : undefined
}

/** Every request of the outside world comes in here, and every failure goes out here. */
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

async function visit(request: Request, path: string, deps: EdgeDeps): Promise<Response> {
  const { gateway, log, metrics } = deps
  const route = routePath(path)
  const protocol = PROTOCOLS[route === '/messages' || route.startsWith('/messages/') ? 'messages' : 'chat']
  const startedAt = gateway.clock()
  const call: Call = {
    requestId: newRequestId(),
    startedAt,
    secret: credentialOf(request.headers, protocol.name),
    headers: request.headers,
    signal: request.signal,
    text: () => readBody(request, TURN_BODY),
  }
  let status = 200
  let code = 'ok'
  try {
    const handler = handlerOf(request.method, route)
    if (!handler) throw new GatewayError({ kind: 'route-unknown', method: request.method, path })
    return answer(await handler({ request, call, path, route, protocol }, deps), call.requestId)
  } catch (error) {
    const failed = asGatewayError(error)
    const wire = wireOf(failed.failure)
    status = wire.status
    code = wire.code || failed.failure.kind
    if (failed.failure.kind === 'internal')
      log.error('internal error', { request_id: call.requestId, error: failed.cause })
    return refuse(failed.failure, { requestId: call.requestId, protocol })
  } finally {
    const duration_ms = gateway.clock() - startedAt
    log.info('request', { request_id: call.requestId, method: request.method, path, status, code, duration_ms })
    metrics.request({ protocol: protocol.name, status, code })
  }
}

async function administer(request: Request, path: string, deps: EdgeDeps): Promise<Response> {
  const { manage } = await import('../admin/api.ts')
  try {
    const call = {
      method: request.method,
      path: path.replace(/\/+$/, ''),
      query: new URL(request.url).searchParams,
      token: request.headers
        .get('authorization')
        ?.replace(/^bearer\s+/i, '')
        .trim(),
      text: () => readBody(request, ADMIN_BODY),
    }
    return adminResponse(await manage(call, { ...deps.admin, catalog: () => deps.gateway.catalog() }))
  } catch (error) {
    return adminResponse(adminFailure(error, deps.log))
  }
}

function adminResponse({ status, body }: AdminReply): Response {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return new Response(body === undefined ? null : JSON.stringify(body), { status, headers })
}

/** The limits of bodies are shared with the gateway, and so are the words for exceeding them. */
function adminFailure(error: unknown, log: Log): AdminReply {
  if (!(error instanceof GatewayError)) {
    log.error('internal error', { error })
    return { status: 500, body: { error: { code: 'internal_error', message: 'Internal error' } } }
  }
  const { status, code, message } = wireOf(error.failure)
  return { status, body: { error: { code: code || error.failure.kind, message } } }
}

/** For load balancers and Prometheus: no credential, no secret, and nothing for browsers. */
function inspect(method: string, path: string, { isReady, metrics }: EdgeDeps): Response {
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

const METRICS_TYPE = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

function decodeModelId(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
