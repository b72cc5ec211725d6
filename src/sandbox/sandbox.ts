import { answerTo } from './answer.ts'
import { chat } from './chat/chat.ts'
import { pause, sendBody, sendFrames } from './delivery.ts'
import type { Dialect } from './dialect.ts'
import { readDirectives } from './directives.ts'
import { parseBody } from './fields.ts'
import { hexId, seedOf } from './ids.ts'
import { messages } from './messages/messages.ts'
import { Refusal } from './refusal.ts'

export interface SandboxOptions {
  readonly port?: number
  readonly hostname?: string
  /** Which models think before they answer. */
  readonly reasons: (model: string) => boolean
}

export interface Sandbox {
  /** The base address, `/v1` included. */
  readonly url: string
  stop(): Promise<void>
}

/** Long conversations are welcome; a runaway client is not. */
const BODY_BYTES_MAX = 64 * 1024 * 1024

const DIALECTS: { readonly [path: string]: Dialect | undefined } = { '/chat/completions': chat, '/messages': messages }

/** A vendor to test against: both protocols, any model, any credential, no memory between requests. */
export function startSandbox({ port = 0, hostname = '127.0.0.1', reasons }: SandboxOptions): Sandbox {
  const server = Bun.serve({
    port,
    hostname,
    // Delays and stalls are part of the service.
    idleTimeout: 0,
    maxRequestBodySize: BODY_BYTES_MAX,
    fetch: request => route(request, reasons),
  })
  return { url: new URL('/v1', server.url).href, stop: () => server.stop(true) }
}

async function route(request: Request, reasons: SandboxOptions['reasons']): Promise<Response> {
  const { pathname } = new URL(request.url)
  const path = pathname.replace(/^\/v1(?=\/)/, '')
  if (request.method === 'GET' && path === '/models') return Response.json({ object: 'list', data: [] })

  const dialect = request.method === 'POST' ? DIALECTS[path] : undefined
  if (dialect !== undefined) return serve(request, dialect, reasons)
  const unknown = new Refusal(404, `Invalid URL (${request.method} ${pathname})`)
  return refuse(unknown, path.startsWith('/messages') ? messages : chat, seedOf(pathname))
}

async function serve(request: Request, dialect: Dialect, reasons: SandboxOptions['reasons']): Promise<Response> {
  // Who leaves while still sending will not read the refusal of an empty body.
  const body = await request.text().catch(() => '')
  const seed = seedOf(body)
  try {
    return await reply(body, { seed, dialect, reasons, signal: request.signal })
  } catch (error) {
    if (error instanceof Refusal) return refuse(error, dialect, seed)
    throw error
  }
}

interface Call {
  readonly seed: string
  readonly dialect: Dialect
  readonly reasons: SandboxOptions['reasons']
  readonly signal: AbortSignal
}

async function reply(body: string, { seed, dialect, reasons, signal }: Call): Promise<Response> {
  const asked = dialect.read(parseBody(body))
  const { directives, text } = readDirectives(asked.question)
  const { errorStatus, delayMs, interruption } = directives

  if (delayMs !== undefined) await pause(delayMs, signal)
  if (errorStatus !== undefined) throw new Refusal(errorStatus, `The sandbox was asked for an error ${errorStatus}`)

  const prompt = { ...asked, question: text }
  const answer = answerTo(prompt, { seed, thinks: prompt.mayThink && reasons(prompt.model), directives })
  const delivery = { headers: headersOf(dialect, seed), interruption, signal }
  return prompt.stream ? sendFrames(dialect.frames(answer, prompt), delivery) : sendBody(dialect.body(answer), delivery)
}

function refuse({ status, message }: Refusal, dialect: Dialect, seed: string): Response {
  const headers = { ...headersOf(dialect, seed), ...(status === 429 && { 'retry-after': '1' }) }
  return Response.json(dialect.error({ status, message, requestId: requestIdOf(seed) }), { status, headers })
}

function headersOf(dialect: Dialect, seed: string): Readonly<Record<string, string>> {
  return { [dialect.requestIdHeader]: requestIdOf(seed), 'x-duet-sandbox': 'true' }
}

function requestIdOf(seed: string): string {
  return `req_${hexId(seed, 'request')}`
}
