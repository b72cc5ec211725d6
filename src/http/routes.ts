import { asGatewayError, GatewayError, wireOf } from '../core/failure.ts'
import { newRequestId } from '../core/ids.ts'
import { authenticate } from '../gateway/authenticate.ts'
import { listModels, showModel } from '../gateway/models.ts'
import { type Call, type Gateway, type Reply, refusePath, serve } from '../gateway/serve.ts'
import { Stay } from '../gateway/stay.ts'
import type { Protocol } from '../protocol/protocol.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { readBytes } from './body.ts'
import { credentialOf } from './credential.ts'
import type { Door } from './door.ts'
import type { EdgeLimits } from './limits.ts'
import { decodePart, routePath } from './path.ts'
import { answer, refuse } from './reply.ts'

export interface RouteDeps {
  readonly gateway: Gateway
  readonly door: Door
  readonly limits: EdgeLimits
  readonly log: Log
  readonly metrics: Metrics
  /** Where people do something about a refusal; undefined where nobody knows how callers reach it. */
  consoleUrl(): string | undefined
  /** False while a stopping gateway takes no new work. */
  readonly isReady: () => boolean
}

/** A request as it came in. */
export interface Arrival {
  readonly request: Request
  /** The path as it was requested. */
  readonly path: string
  /** What the answer carries in any case. */
  readonly headers: Readonly<Record<string, string>>
}

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

const turn: Handler = ({ call, protocol }, { gateway, door }) =>
  door.pass(call.stay, () => serve(call, protocol, gateway))

const models: Handler = async ({ call }, { gateway }) => {
  const caller = await authenticate(call.secret, gateway)
  return { headers: {}, body: listModels(gateway.catalog(), caller) }
}

const model: Handler = async ({ request, call, path, route }, { gateway }) => {
  const caller = await authenticate(call.secret, gateway)
  const body = showModel(gateway.catalog(), caller, decodePart(route.slice('/models/'.length)))
  if (body === undefined) throw new GatewayError({ kind: 'route-unknown', method: request.method, path })
  return { headers: {}, body }
}

const unsupported: Handler = ({ call, protocol }, { gateway }) => refusePath(call, protocol, gateway)

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

/** Browser apps may call what is under `/v1`, and the same routes without the prefix; nothing else is their business. */
export function isForBrowsers(path: string): boolean {
  if (path === '/v1' || path.startsWith('/v1/')) return true
  const route = routePath(path)
  return ['GET', 'POST'].some(method => handlerOf(method, route) !== undefined)
}

/** What callers of the two protocols may ask for; every failure of theirs goes out here. */
export async function visit({ request, path, headers: open }: Arrival, deps: RouteDeps): Promise<Response> {
  const route = routePath(path)
  const protocol = PROTOCOLS[route === '/messages' || route.startsWith('/messages/') ? 'messages' : 'chat']
  const startedAt = deps.gateway.clock()
  const call: Call = {
    requestId: newRequestId(startedAt),
    startedAt,
    secret: credentialOf(request.headers, protocol.name),
    headers: request.headers,
    signal: request.signal,
    stay: new Stay(),
    bytes: () => readBytes(request, deps.limits.body),
  }
  const visit: Visit = { request, call, path, route, protocol }
  try {
    const handler = handlerOf(request.method, route)
    if (!handler) throw new GatewayError({ kind: 'route-unknown', method: request.method, path })
    if (!deps.isReady()) throw new GatewayError({ kind: 'shutting-down' })
    const reply = await handler(visit, deps)
    const { replayOf } = reply
    if (reply.ended) reply.ended.then(failed => report(visit, { status: 200, failed, replayOf }, deps))
    else report(visit, { status: 200, replayOf }, deps)
    return answer(reply, { requestId: call.requestId, open })
  } catch (error) {
    const failed = asGatewayError(error)
    report(visit, { status: wireOf(failed.failure).status, failed }, deps)
    return refuse(failed.failure, { requestId: call.requestId, open, consoleUrl: deps.consoleUrl(), protocol })
  }
}

/** A path is whatever somebody typed; the log needs its beginning. */
const LOGGED_PATH_CHARACTERS_MAX = 200

interface Outcome {
  readonly status: number
  readonly failed?: GatewayError | undefined
  /** The request whose answer was given once more. */
  readonly replayOf?: string | undefined
}

/** One line and one count for every request, when it is over. */
function report(
  { request, call, path, protocol }: Visit,
  { status, failed, replayOf }: Outcome,
  { gateway, log, metrics }: RouteDeps,
): void {
  const code = failed ? wireOf(failed.failure).code || failed.failure.kind : 'ok'
  metrics.request({ protocol: protocol.name, status, code })
  const line = {
    request_id: call.requestId,
    method: request.method,
    path: path.slice(0, LOGGED_PATH_CHARACTERS_MAX),
    status,
    code,
    duration_ms: gateway.clock() - call.startedAt,
    ...(replayOf === undefined ? {} : { replay_of: replayOf }),
  }
  // A cause is a fault of ours or of an upstream, for the operator to see; callers' own mistakes have none to tell.
  const isOurs = status >= 500 || status === 200
  if (failed?.cause !== undefined && isOurs) log.error('request', { ...line, error: failed.cause })
  else log.info('request', line)
}
