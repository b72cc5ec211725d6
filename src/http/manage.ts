import type { AdminDeps, AdminReply } from '../admin/api.ts'
import { NDJSON } from '../admin/contract.ts'
import { GatewayError, wireOf } from '../core/failure.ts'
import type { Log } from '../telemetry/log.ts'
import { type BodyLimits, readBody } from './body.ts'
import { bearerOf } from './credential.ts'
import { type Address, decodePart, withoutTrailingSlashes } from './path.ts'

export interface ManageDeps {
  readonly admin: AdminDeps
  readonly log: Log
}

const NOT_STORED = { 'cache-control': 'no-store' }

const BODY: BodyLimits = { bytesMax: 1024 * 1024, secondsMax: 10 }

/** The management API at the edge. */
export async function administer(request: Request, address: Address, { admin, log }: ManageDeps): Promise<Response> {
  // Loaded with its schemas when an operator calls for the first time: a start does not wait for it.
  const { manage } = await import('../admin/api.ts')
  try {
    const path = withoutTrailingSlashes(address.path.slice('/api'.length))
    const call = {
      method: request.method,
      path,
      segments: path.split('/').slice(1).map(decodePart),
      query: address.query,
      token: bearerOf(request.headers),
      accept: request.headers.get('accept') ?? '',
      signal: request.signal,
      text: () => readBody(request, BODY),
    }
    return respond(await manage(call, admin))
  } catch (error) {
    // What a caller who has left no longer wanted is no fault.
    if (request.signal.aborted) return new Response(null, { status: 499 })
    return respond(failed(error, log))
  }
}

function respond({ status, body, lines }: AdminReply): Response {
  if (lines) return new Response(linesOf(lines), { status, headers: { ...NOT_STORED, 'content-type': NDJSON } })
  const headers = { ...NOT_STORED, 'content-type': 'application/json' }
  return new Response(body === undefined ? null : JSON.stringify(body), { status, headers })
}

async function* linesOf(values: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  const utf8 = new TextEncoder()
  for await (const value of values) yield utf8.encode(`${JSON.stringify(value)}\n`)
}

/** The limits of bodies are shared with the gateway, and so are the words for exceeding them. */
function failed(error: unknown, log: Log): AdminReply {
  if (!(error instanceof GatewayError)) {
    log.error('internal error', { error })
    return { status: 500, body: { error: { code: 'internal_error', message: 'Internal error' } } }
  }
  const { status, code, message } = wireOf(error.failure)
  return { status, body: { error: { code: code || error.failure.kind, message } } }
}
