import type { Abort } from '../core/abort.ts'
import type { ChannelTimeouts } from '../core/catalog.ts'
import { ANSWER_LENGTH_MAX, answerTooLong, GatewayError } from '../core/failure.ts'
import { LineCut } from './http/answer-reader.ts'
import { type Answer, type Asking, ask } from './http/ask.ts'
import type { Incoming } from './http/call.ts'
import { verdict } from './verdict.ts'
import { Watchdog } from './watchdog.ts'

export interface UpstreamRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** As text, or in pieces that follow each other. */
  readonly body: Asking['body']
  readonly timeouts: ChannelTimeouts
  /** Aborted with the failure to report: the client left, the gateway stops. */
  readonly abort: Abort
}

/** What may stand before an answer that does not say what it is. */
const BLANK_BYTES_MAX = 64 * 1024
/** An upstream that keeps a finished answer open longer than this loses its connection. */
const RELEASE_MS_MAX = 1_000
/** Enough of a complaint to find its message; its status says the rest. */
const COMPLAINT_CHARACTERS_MAX = 1024 * 1024
const COMPLAINT_MS_MAX = 2_000

const OUR_HEADERS = {
  'content-type': 'application/json',
  accept: '*/*',
  // A packed answer would be unpacked here, piece by piece, to save a network that is rarely what anyone waits for.
  'accept-encoding': 'identity',
  'user-agent': 'duet',
}

/** Calls an upstream; resolves at its headers, throws a failure for every refusal. */
export async function callUpstream({ url, headers, body, timeouts, abort }: UpstreamRequest): Promise<UpstreamReply> {
  const { connectMs, firstByteMs, idleMs, totalMs } = timeouts
  const watchdog = new Watchdog(abort, totalMs)
  watchdog.expect('connect', connectMs)
  try {
    const answer = await ask({
      url,
      headers: { ...OUR_HEADERS, ...headers },
      body,
      abort,
      connected: () => watchdog.expect('first byte', firstByteMs),
    })
    watchdog.rest()
    const reply = new UpstreamReply(answer, watchdog, idleMs)
    const { status } = answer.head
    if (status >= 200 && status < 300) return reply
    const complaint = await reply.complaint()
    throw new GatewayError(verdict({ status, headers: answer.head, body: complaint, now: Date.now() }))
  } catch (error) {
    watchdog.end()
    throw failureOf(error, abort, { isLost: error instanceof LineCut })
  }
}

export class UpstreamReply {
  private readonly isNamedStream: boolean
  /** Read ahead, to see what it is; most need not be looked at. */
  private ahead: Uint8Array[] | undefined
  private readonly body: Incoming
  private readonly watchdog: Watchdog
  private readonly idleMs: number

  constructor({ head, body }: Answer, watchdog: Watchdog, idleMs: number) {
    this.isNamedStream = head.get('content-type')?.includes('text/event-stream') ?? false
    this.body = body
    this.watchdog = watchdog
    this.idleMs = idleMs
  }

  /** Some servers answer with a whole body although a stream was asked for; some do not say what they send. */
  async isStream(): Promise<boolean> {
    if (this.isNamedStream) return true
    let blanks = 0
    for (let bytes = await this.read(this.idleMs); bytes; bytes = await this.read(this.idleMs)) {
      this.ahead ??= []
      this.ahead.push(bytes)
      const [first] = new TextDecoder().decode(bytes).trimStart()
      if (first !== undefined) return first !== '{'
      blanks += bytes.byteLength
      if (blanks > BLANK_BYTES_MAX) return true
    }
    return true
  }

  /** The next bytes, undefined at the end. */
  next(limitMs = this.idleMs): Promise<Uint8Array | undefined> {
    const ahead = this.ahead?.shift()
    return ahead ? Promise.resolve(ahead) : this.read(limitMs)
  }

  private read(limitMs: number): Promise<Uint8Array | undefined> {
    this.watchdog.expect('silence', limitMs)
    return this.body.read().then(this.came, this.lost)
  }

  /** These two are made once: a function that waits would be made for each of the many pieces of a stream. */
  private readonly came = (bytes: Uint8Array | undefined): Uint8Array | undefined => {
    if (bytes) this.watchdog.rest()
    else this.watchdog.end()
    return bytes
  }

  private readonly lost = (error: unknown): never => {
    this.watchdog.end()
    throw failureOf(error, this.watchdog.abort)
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
    const enough = setTimeout(() => this.body.cancel(), Math.min(COMPLAINT_MS_MAX, this.watchdog.leftMs))
    // A limit that runs out now would stand in for the status.
    this.watchdog.end()
    try {
      for (let bytes = await this.body.read(); bytes; bytes = await this.body.read()) {
        text += decoder.decode(bytes, { stream: true })
        if (text.length > COMPLAINT_CHARACTERS_MAX) this.body.cancel()
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
      if (await this.body.read()) this.cancel()
    } catch {
      // It was over anyway; only the connection is lost.
    } finally {
      // Not only at rest: a timer that goes on would keep all of a finished answer in memory until it goes off.
      this.watchdog.end()
    }
  }

  /** Nobody reads on: the upstream is told at once, so that it stops generating. */
  cancel(): void {
    this.body.cancel()
    this.watchdog.abort.abort()
  }
}

function failureOf(error: unknown, abort: Abort, { isLost } = { isLost: false }): GatewayError {
  if (abort.reason instanceof GatewayError) return abort.reason
  if (error instanceof GatewayError) return error
  const problem = 'The connection to the upstream failed'
  return new GatewayError({ kind: 'upstream-error', problem, ...(isLost ? { isLost } : {}) }, error)
}
