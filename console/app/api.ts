import { type Query, searchOf } from './address.ts'

/** What the management API refused, in its own words. `param` names the field that is at fault. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly param: string | undefined
  /** Of a 429. */
  readonly retryAfterSeconds: number | undefined

  constructor(fault: { status: number; code: string; message: string; param?: string; retryAfterSeconds?: number }) {
    super(fault.message)
    this.name = 'ApiError'
    this.status = fault.status
    this.code = fault.code
    this.param = fault.param
    this.retryAfterSeconds = fault.retryAfterSeconds
  }
}

export interface CallOptions {
  readonly query?: Query
  readonly signal?: AbortSignal
}

/** A console that hears nothing for so long says so. */
const CALL_MS_MAX = 60_000

let onSignedOut: () => void = () => undefined

/** Called when a session has ended under us. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener
}

export const api = {
  get: <T>(path: string, query?: Query, signal?: AbortSignal) =>
    call<T>('GET', path, { ...(query ? { query } : {}), ...(signal ? { signal } : {}) }),
  post: <T>(path: string, body?: unknown, options?: CallOptions) => call<T>('POST', path, options, body),
  put: <T>(path: string, body?: unknown, options?: CallOptions) => call<T>('PUT', path, options, body),
  patch: <T>(path: string, body?: unknown, options?: CallOptions) => call<T>('PATCH', path, options, body),
  delete: <T = void>(path: string, options?: CallOptions) => call<T>('DELETE', path, options),
}

/** An address of the API for a link, such as a download. */
export const apiHref = (path: string, query: Query = {}): string => `/api${path}${searchOf(query)}`

async function call<T>(method: string, path: string, { query, signal }: CallOptions = {}, body?: unknown): Promise<T> {
  const limit = AbortSignal.timeout(CALL_MS_MAX)
  const response = await fetch(apiHref(path, query), {
    method,
    // Proves that a page of ours asks: no other site can send it without asking first.
    headers: { 'x-duet-console': '1', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
    credentials: 'same-origin',
    cache: 'no-store',
  }).catch(cause => {
    if (signal?.aborted) throw cause
    throw new ApiError({ status: 0, code: 'unreachable', message: 'unreachable' })
  })
  const text = await response.text()
  if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as T
  const error = errorOf(response, text)
  if (error.status === 401 && error.code === 'unauthorized') onSignedOut()
  throw error
}

function errorOf(response: Response, text: string): ApiError {
  const { status } = response
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const wait = Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string; param?: string } }
    return new ApiError({ status, code: error.code, message: error.message, ...wait, ...paramOf(error.param) })
  } catch {
    return new ApiError({ status, code: 'unreadable', message: response.statusText || `HTTP ${status}`, ...wait })
  }
}

const paramOf = (param: string | undefined) => (param === undefined ? {} : { param })

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}
