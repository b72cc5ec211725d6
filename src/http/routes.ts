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
import { routePath } from './path.ts'
import { answer, refuse } from './reply.ts'

export interface RouteDeps {
  readonly gateway: Gateway
  readonly log: Log
  readonly metrics: Metrics
}

/** Agents send long conversations; nobody sends more than this in earnest. */
const BODY: BodyLimits = { bytesMax: 32 * 1024 * 1024, secondsMax: 60 }

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

type Handler = (visit: Visit, deps: RouteDeps) => Promise<Reply>

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

/** What callers of the two protocols may ask for; every failure of theirs goes out here. */
export async function visit(request: Request, path: string, deps: RouteDeps): Promise<Response> {
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
    text: () => readBody(request, BODY),
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

function decodeModelId(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
