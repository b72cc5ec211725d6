import { type ErrorContext, type Failure, wireOf } from '../core/failure.ts'
import type { Reply } from '../gateway/serve.ts'
import type { Protocol } from '../protocol/protocol.ts'

/** Browser apps call the gateway from anywhere; they carry a key, never a cookie. */
export const OPEN_TO_BROWSERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': '*',
}

export const NO_HEADERS = {}

const JSON_TYPE = { 'content-type': 'application/json' }
export const STREAM_TYPE = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  // Proxies that collect a response before sending it on make a stream useless.
  'x-accel-buffering': 'no',
}

const inPieces = (bytes: number) => ({ ...JSON_TYPE, 'content-length': String(bytes) })

/** Each official client reads one of the two. */
const idHeaders = (requestId: string) => ({ 'x-request-id': requestId, 'request-id': requestId })

/** What every answer to a request carries. */
export interface Addressed {
  readonly requestId: string
  readonly open: Readonly<Record<string, string>>
}

export function answer({ headers, body, bodyBytes }: Reply, { requestId, open }: Addressed): Response {
  const type = typeof body === 'string' ? JSON_TYPE : bodyBytes === undefined ? STREAM_TYPE : inPieces(bodyBytes)
  return new Response(body, { headers: { ...type, ...open, ...idHeaders(requestId), ...headers } })
}

interface Refused extends Addressed, ErrorContext {
  readonly requestId: string
  readonly protocol: Protocol
}

export function refuse(failure: Failure, { protocol, open, ...context }: Refused): Response {
  const { status, mayRetry, retryAfter } = wireOf(failure)
  return new Response(protocol.errorBody(failure, context), {
    status,
    headers: {
      ...JSON_TYPE,
      ...open,
      ...idHeaders(context.requestId),
      ...(mayRetry ? {} : { 'x-should-retry': 'false' }),
      ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
    },
  })
}

/** A browser's question before the real request. */
export function preflight(request: Request): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...OPEN_TO_BROWSERS,
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': request.headers.get('access-control-request-headers') ?? '*',
      'access-control-max-age': '86400',
    },
  })
}

/** The same answer for those who asked for the headers only. */
export async function withoutBody(response: Response): Promise<Response> {
  const headers = new Headers(response.headers)
  if (headers.get('content-type') !== JSON_TYPE['content-type']) {
    // A stream may never end, and a file may be large: nobody says how long they are.
    await response.body?.cancel()
    // Without it, an empty body would be said to have no length at all.
    headers.set('transfer-encoding', 'chunked')
    return new Response(null, { status: response.status, headers })
  }
  const length = (await response.bytes()).byteLength
  headers.set('content-length', String(length))
  return new Response(null, { status: response.status, headers })
}
