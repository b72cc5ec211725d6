import type { ChannelTimeouts } from '../core/catalog.ts'
import { GatewayError } from '../core/failure.ts'
import { verdict } from './verdict.ts'

export interface UpstreamRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeouts: ChannelTimeouts
  /** Aborted with the failure to report: the client left, the gateway stops. */
  readonly abort: AbortController
}

/** A whole answer larger than this is no answer. */
const BODY_BYTES_MAX = 64 * 1024 * 1024
/** What may stand before an answer that does not say what it is. */
const BLANK_BYTES_MAX = 64 * 1024
/** An upstream that keeps a finished answer open longer than this loses its connection. */
const RELEASE_MS_MAX = 1_000
/** Enough of an error body to find its message. */
const ERROR_BYTES_MAX = 1024 * 1024

/** Calls an upstream; resolves at its headers, throws a failure for every refusal. */
export async function callUpstream(request: UpstreamRequest): Promise<UpstreamReply> {
  const { url, headers, body, timeouts, abort } = request
  const watchdog = new Watchdog(abort)
  watchdog.expect('first byte', timeouts.connectMs + timeouts.firstByteMs)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal: abort.signal,
      // A redirect would carry the credential to an address nobody configured.
      redirect: 'manual',
      // Bun's own limit of five minutes would cut long thoughts; ours are per channel.
      timeout: false,
    })
    const reply = new UpstreamReply(response, watchdog, timeouts.idleMs)
    if (response.ok) return reply
    const text = await reply.text(ERROR_BYTES_MAX).catch(() => '')
    throw new GatewayError(verdict(response.status, response.headers.get('retry-after'), text))
  } catch (error) {
    watchdog.rest()
    throw failureOf(error, abort)
  }
}

interface Reader {
  read(): Promise<{ readonly value?: Uint8Array }>
  cancel(): Promise<void>
}

export class UpstreamReply {
  private readonly isNamedStream: boolean
  /** Read ahead, to see what it is. */
  private readonly ahead: Uint8Array[] = []
  private readonly reader: Reader | undefined
  private readonly watchdog: Watchdog
  private readonly idleMs: number

  constructor(response: Response, watchdog: Watchdog, idleMs: number) {
    this.isNamedStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false
    this.reader = response.body?.getReader() as Reader | undefined
    this.watchdog = watchdog
    this.idleMs = idleMs
  }

  /** Some servers answer with a whole body although a stream was asked for; some do not say what they send. */
  async isStream(): Promise<boolean> {
    if (this.isNamedStream) return true
    let blanks = 0
    for (let bytes = await this.read(this.idleMs); bytes; bytes = await this.read(this.idleMs)) {
      this.ahead.push(bytes)
      const [first] = new TextDecoder().decode(bytes).trimStart()
      if (first !== undefined) return first !== '{'
      blanks += bytes.byteLength
      if (blanks > BLANK_BYTES_MAX) return true
    }
    return true
  }

  /** The next bytes, undefined at the end. */
  async next(limitMs = this.idleMs): Promise<Uint8Array | undefined> {
    return this.ahead.shift() ?? this.read(limitMs)
  }

  private async read(limitMs: number): Promise<Uint8Array | undefined> {
    this.watchdog.expect('silence', limitMs)
    try {
      const read = await this.reader?.read()
      return read?.value
    } catch (error) {
      throw failureOf(error, this.watchdog.abort)
    } finally {
      this.watchdog.rest()
    }
  }

  async text(bytesMax = BODY_BYTES_MAX): Promise<string> {
    const decoder = new TextDecoder()
    let text = ''
    let bytes = 0
    for (let chunk = await this.next(); chunk; chunk = await this.next()) {
      bytes += chunk.byteLength
      if (bytes > bytesMax) {
        this.cancel()
        throw new GatewayError({ kind: 'upstream-error', problem: 'The upstream sent an answer that is too long' })
      }
      text += decoder.decode(chunk, { stream: true })
    }
    return text + decoder.decode()
  }

  /** The answer is complete: what little may follow is read, so that the connection can serve the next call. */
  async release(): Promise<void> {
    this.watchdog.expect('silence', RELEASE_MS_MAX)
    try {
      const rest = await this.reader?.read()
      if (rest?.value) this.cancel()
    } catch {
      // It was over anyway; only the connection is lost.
    } finally {
      this.watchdog.rest()
    }
  }

  /** Nobody reads on: the upstream is told at once, so that it stops generating. */
  cancel(): void {
    this.watchdog.rest()
    this.reader?.cancel().catch(() => {})
    this.watchdog.abort.abort()
  }
}

/** One timer a call, armed for whatever is awaited next. */
class Watchdog {
  readonly abort: AbortController
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(abort: AbortController) {
    this.abort = abort
  }

  expect(phase: 'first byte' | 'silence', limitMs: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.abort.abort(new GatewayError({ kind: 'upstream-timeout', phase })), limitMs)
  }

  rest(): void {
    clearTimeout(this.timer)
  }
}

function failureOf(error: unknown, { signal }: AbortController): GatewayError {
  if (signal.aborted && signal.reason instanceof GatewayError) return signal.reason
  if (error instanceof GatewayError) return error
  return new GatewayError({ kind: 'upstream-error', problem: 'The connection to the upstream failed' }, error)
}
