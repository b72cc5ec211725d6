import type { List } from '../admin/contract.ts'
import type { Context } from './command.ts'
import { type CommandError, failure, notFound, UNREACHABLE } from './failure.ts'
import { findServer, type ServerPlace } from './server.ts'

/** A server that is alive answers sooner, under any load. */
const ANSWER_MS_MAX = 30_000
/** Upstreams have their own time limits, of minutes; a test of one waits for them. */
export const UPSTREAM_MS_MAX = 300_000
/** The most that the API gives at once. */
const PAGE_ROWS_MAX = 500

type Query = Readonly<Record<string, string | number | undefined>>

export interface Answer<T> {
  readonly status: number
  readonly body: T
}

interface Question {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Query
  readonly body?: unknown
  readonly accept?: string
  readonly signal: AbortSignal
}

/** The management API of a running server. What it refuses becomes the error that ends the command. */
export class Api {
  private readonly place: ServerPlace
  private readonly answerMsMax: number

  constructor(place: ServerPlace, answerMsMax = ANSWER_MS_MAX) {
    this.place = place
    this.answerMsMax = answerMsMax
  }

  async get<T>(path: string, query: Query = {}): Promise<T> {
    return (await this.send<T>({ method: 'GET', path, query })).body
  }

  post<T>(path: string, body: unknown, msMax?: number): Promise<Answer<T>> {
    return this.send<T>({ method: 'POST', path, body }, msMax)
  }

  async put<T>(path: string, body: unknown): Promise<T> {
    return (await this.send<T>({ method: 'PUT', path, body })).body
  }

  async patch<T>(path: string, body: unknown): Promise<T> {
    return (await this.send<T>({ method: 'PATCH', path, body })).body
  }

  async delete(path: string): Promise<void> {
    await this.send({ method: 'DELETE', path })
  }

  /** Follows the cursor from page to page, as far as wanted. */
  async list<T>(path: string, query: Query, limit = Number.POSITIVE_INFINITY): Promise<List<T>> {
    const data: T[] = []
    let next: string | null = null
    do {
      const page: List<T> = await this.get<List<T>>(path, {
        ...query,
        limit: Math.min(PAGE_ROWS_MAX, limit - data.length),
        cursor: next ?? undefined,
      })
      if (!Array.isArray(page.data)) throw this.foreign(200)
      data.push(...page.data)
      next = page.next
    } while (next !== null && data.length < limit)
    return { data, next }
  }

  /** An answer that comes line by line; only its beginning has a time limit. */
  async *lines<T>(path: string, accept: string): AsyncGenerator<T> {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), this.answerMsMax)
    const question = { method: 'GET', path, accept, signal: limit.signal } as const
    const response = await this.open(question).finally(() => clearTimeout(timer))
    const { status } = response
    if (status !== 200 || !response.body) throw this.refused(status, this.json(response, await response.text()))
    let rest = ''
    for await (const text of this.chunks(response.body)) {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield this.json(response, line) as T
    }
    if (rest !== '') yield this.json(response, rest) as T
  }

  private async send<T>(question: Omit<Question, 'signal'>, msMax = this.answerMsMax): Promise<Answer<T>> {
    const sent = { ...question, signal: AbortSignal.timeout(msMax) }
    const response = await this.open(sent)
    const { status } = response
    const text = await response.text().catch(error => {
      throw this.unanswered(sent, error)
    })
    const body = status === 204 ? undefined : this.json(response, text)
    if (status >= 300) throw this.refused(status, body)
    return { status, body: body as T }
  }

  private async open(question: Question): Promise<Response> {
    const { method, path, query = {}, body, accept = 'application/json', signal } = question
    const { base, token } = this.place
    try {
      return await fetch(`${base}/api${path}${queryText(query)}`, {
        method,
        headers: {
          accept,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal,
        // An admin token is for the server that was named, and for nobody it may point to.
        redirect: 'manual',
      })
    } catch (error) {
      throw this.unanswered(question, error)
    }
  }

  private async *chunks(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of body) yield decoder.decode(chunk, { stream: true })
    } catch {
      throw failure(`${this.place.base} broke off its answer`, 'broken_off')
    }
  }

  private json({ status }: Response, text: string): unknown {
    try {
      return JSON.parse(text)
    } catch {
      throw this.foreign(status)
    }
  }

  private foreign(status: number): CommandError {
    return failure(`what answers at ${this.place.base} is not Duet (status ${status}); set DUET_URL`, 'not_duet')
  }

  private refused(status: number, body: unknown): CommandError {
    const { base, tokenPlaces } = this.place
    if (status === 401) return failure(`${base} refused the admin token: ${tokenPlaces}`, 'unauthorized')
    const { code, message } = errorOf(body)
    if (message === undefined) return this.foreign(status)
    return status === 404 ? notFound(message) : failure(message, code)
  }

  private unanswered({ method, signal }: Question, error: unknown): CommandError {
    const { base } = this.place
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const doubt = method === 'GET' ? '' : '; it may have done what it was asked for'
    if (signal.aborted) return failure(`${base} did not answer in time${doubt}`, 'timeout')
    if (code === 'ECONNRESET') return failure(`${base} hung up without an answer${doubt}`, 'broken_off')
    const advice = 'start one with "duet start", or set DUET_URL to where it runs'
    return failure(`no Duet answers at ${base} (${code ?? error}); ${advice}`, UNREACHABLE)
  }
}

function errorOf(body: unknown): { code?: string; message?: string } {
  const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined
  return typeof error === 'object' && error !== null ? error : {}
}

function queryText(query: Query): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? '' : `?${given}`
}

export const apiOf = ({ env }: Pick<Context, 'env'>): Api => new Api(findServer(env))

/** A path with names in it that somebody typed. */
export function apiPath(...parts: readonly string[]): string {
  // Addresses take these for "here" and "one up", however they are written.
  const impossible = parts.find(part => /^\.{1,2}$/.test(part))
  if (impossible !== undefined) throw notFound(`"${impossible}" does not exist`)
  return parts.map(part => `/${encodeURIComponent(part)}`).join('')
}
