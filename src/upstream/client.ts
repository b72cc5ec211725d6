import type { ChannelTimeouts } from '../core/catalog.ts'
import { ANSWER_LENGTH_MAX, answerTooLong, GatewayError } from '../core/failure.ts'
import { verdict } from './verdict.ts'
import { Watchdog } from './watchdog.ts'

export interface UpstreamRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeouts: ChannelTimeouts
  /** Aborted with the failure to report: the client left, the gateway stops. */
  readonly abort: AbortController
}

/** What may stand before an answer that does not say what it is. */
const BLANK_BYTES_MAX = 64 * 1024
/** An upstream that keeps a finished answer open longer than this loses its connection. */
const RELEASE_MS_MAX = 1_000
/** Enough of a complaint to find its message; its status says the rest. */
const COMPLAINT_CHARACTERS_MAX = 1024 * 1024
const COMPLAINT_MS_MAX = 2_000

/** Calls an upstream; resolves at its headers, throws a failure for every refusal. */
export async function callUpstream({ url, headers, body, timeouts, abort }: UpstreamRequest): Promise<UpstreamReply> {
  const { connectMs, firstByteMs, idleMs, totalMs } = timeouts
  const watchdog = new Watchdog(abort, totalMs)
  watchdog.expect('connect', connectMs)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers, 'content-length': String(Buffer.byteLength(body)) },
      body: sentWhole(body, () => {
        if (watchdog.isAwaiting('connect')) watchdog.expect('first byte', firstByteMs)
      }),
      signal: abort.signal,
      // A redirect would carry the credential to an address nobody configured.
      redirect: 'manual',
      // Bun's own limit of five minutes would cut long thoughts; ours are per channel.
      timeout: false,
    })
    watchdog.rest()
    const reply = new UpstreamReply(response, watchdog, idleMs)
    if (response.ok) return reply
    const complaint = await reply.complaint()
    const { status, headers: said } = response
    throw new GatewayError(verdict({ status, headers: said, body: complaint, now: Date.now() }))
  } catch (error) {
    watchdog.end()
    throw failureOf(error, abort, { isLost: LOST.has(codeOf(error)) })
  }
}

/**
 * A stream, because nothing else tells when a connection is there: it is asked for the body then, and not before. See
 * docs/decisions/0015-connect-limit.md.
 */
const sentWhole = (body: string, connected: () => void): ReadableStream =>
  new ReadableStream({
    type: 'direct',
    pull(controller) {
      connected()
      controller.write(body)
      controller.end()
    },
  })

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
    let bytes: Uint8Array | undefined
    try {
      bytes = (await this.reader?.read())?.value
      return bytes
    } catch (error) {
      throw failureOf(error, this.watchdog.abort)
    } finally {
      if (bytes) this.watchdog.rest()
      else this.watchdog.end()
    }
  }

  async text(): Promise<string> {
    const decoder = new TextDecoder()
    let text = ''
    let bytes = 0
    for (let chunk = await this.next(); chunk; chunk = await this.next()) {
      bytes += chunk.byteLength
      if (bytes > ANSWER_LENGTH_MAX) {
        this.cancel()
        throw answerTooLong()
      }
      text += decoder.decode(chunk, { stream: true })
    }
    return text + decoder.decode()
  }

  /** What an upstream says of its refusal, as far as it comes soon. */
  async complaint(): Promise<string> {
    const decoder = new TextDecoder()
    let text = ''
    const enough = setTimeout(() => this.drop(), Math.min(COMPLAINT_MS_MAX, this.watchdog.leftMs))
    // A limit that runs out now would stand in for the status.
    this.watchdog.end()
    try {
      for (let read = await this.reader?.read(); read?.value; read = await this.reader?.read()) {
        text += decoder.decode(read.value, { stream: true })
        if (text.length > COMPLAINT_CHARACTERS_MAX) this.drop()
      }
    } catch {
      // Its status has come, and that is what counts.
    } finally {
      clearTimeout(enough)
    }
    return text
  }

  /** The answer is complete: what little may follow is read, so that the connection can serve the next call. */
  async release(): Promise<void> {
    this.watchdog.end()
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
    this.drop()
    this.watchdog.abort.abort()
  }

  private drop(): void {
    this.reader?.cancel().catch(() => {})
  }
}

/** What Bun calls a connection that the other side has closed or reset. */
const LOST: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ConnectionClosed'])

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

function failureOf(error: unknown, { signal }: AbortController, { isLost } = { isLost: false }): GatewayError {
  if (signal.aborted && signal.reason instanceof GatewayError) return signal.reason
  if (error instanceof GatewayError) return error
  const problem = 'The connection to the upstream failed'
  return new GatewayError({ kind: 'upstream-error', problem, ...(isLost ? { isLost } : {}) }, error)
}
