import type { AdminDeps } from '../admin/api.ts'
import { NDJSON } from '../admin/ndjson.ts'
import type { AdminCall, AdminEvent, AdminReply } from '../admin/route.ts'
import { asGatewayError, GatewayError, wireOf } from '../core/failure.ts'
import { StoreUnavailable } from '../core/store.ts'
import type { Log } from '../telemetry/log.ts'
import { type BodyLimits, readBody } from './body.ts'
import { bearerOf } from './credential.ts'
import { type Address, decodePart, withoutTrailingSlashes } from './path.ts'
import { STREAM_TYPE } from './reply.ts'
import { cookieFor, isFromConsole, isSecure, sessionOf } from './session.ts'

export interface ManageDeps {
  readonly admin: AdminDeps
  readonly log: Log
  /** Aborted when the gateway stops: what would go on for ever must not keep it. */
  readonly stopping: AbortSignal
}

/** A request, and where it comes from. */
export interface Visitor {
  readonly request: Request
  readonly from: Address
  /** The other end of the connection. */
  address(): string
}

const NOT_STORED = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
const JSON_TYPE = { 'content-type': 'application/json' }

const BODY: BodyLimits = { bytesMax: 1024 * 1024, secondsMax: 10 }

/** The management API at the edge. */
export async function administer(visitor: Visitor, deps: ManageDeps): Promise<Response> {
  const { request } = visitor
  const { admin, log } = deps
  // Loaded with its schemas when an operator calls for the first time: a start does not wait for it.
  const { manage } = await import('../admin/api.ts')
  try {
    return respond(await manage(callOf(visitor, deps), admin), isSecure(request.headers, admin.publicUrl()))
  } catch (error) {
    // What a caller who has left no longer wanted is no fault.
    if (request.signal.aborted) return new Response(null, { status: 499 })
    return respond(failed(error, log), false)
  }
}

function callOf({ request, from, address }: Visitor, { admin, stopping }: ManageDeps): AdminCall {
  const { headers } = request
  const path = withoutTrailingSlashes(from.path.slice('/api'.length))
  return {
    method: request.method,
    path,
    segments: path.split('/').slice(1).map(decodePart),
    query: new URLSearchParams(from.search),
    token: bearerOf(headers),
    session: sessionOf(headers),
    isFromConsole: isFromConsole(headers, admin.publicUrl()),
    address: address(),
    client: headers.get('user-agent') ?? '',
    accept: headers.get('accept') ?? '',
    signal: AbortSignal.any([request.signal, stopping]),
    text: () => readBody(request, BODY),
  }
}

function respond(reply: AdminReply, secure: boolean): Response {
  const { status, session, retryAfter } = reply
  const [body, type] = bodyOf(reply)
  return new Response(body, {
    status,
    headers: {
      ...NOT_STORED,
      ...type,
      ...(session ? { 'set-cookie': cookieFor(session, secure) } : {}),
      ...(retryAfter ? { 'retry-after': String(retryAfter) } : {}),
    },
  })
}

type Body = string | null | AsyncIterable<Uint8Array>

function bodyOf({ body, lines, events, file }: AdminReply): [Body, Record<string, string>] {
  if (events) return [encoded(framesOf(events)), STREAM_TYPE]
  if (lines) return [encoded(linesOf(lines)), { 'content-type': NDJSON }]
  if (file) {
    const { name, type, parts } = file
    return [encoded(parts), { 'content-type': type, 'content-disposition': `attachment; filename="${name}"` }]
  }
  return [body === undefined ? null : JSON.stringify(body), JSON_TYPE]
}

async function* linesOf(values: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const value of values) yield `${JSON.stringify(value)}\n`
}

async function* framesOf(events: AsyncIterable<AdminEvent>): AsyncGenerator<string> {
  for await (const { event, data } of events) yield `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const utf8 = new TextEncoder()
  for await (const text of texts) yield utf8.encode(text)
}

/** The limits of bodies, and a store that is away, are shared with the gateway, and so are the words for them. */
function failed(error: unknown, log: Log): AdminReply {
  if (!(error instanceof GatewayError || error instanceof StoreUnavailable)) {
    log.error('internal error', { error })
    return { status: 500, body: { error: { code: 'internal_error', message: 'Internal error' } } }
  }
  const { failure } = asGatewayError(error)
  const { status, code, message, retryAfter } = wireOf(failure)
  const body = { error: { code: code || failure.kind, message } }
  return retryAfter === undefined ? { status, body } : { status, body, retryAfter: Number(retryAfter) }
}
