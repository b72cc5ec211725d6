import { Chunks } from './chunks.ts'
import { Head } from './head.ts'

/** Far more than any server sends; what comes without end is no answer. */
const HEAD_BYTES_MAX = 64 * 1024
const HEAD_END = '\r\n\r\n'
const VERSION = 'HTTP/1.'

/** Whoever wants an answer, told of it piece by piece. */
export interface AnswerSink {
  head(head: Head): void
  body(bytes: Uint8Array): void
}

/** The other side ended the connection in the middle of an answer, or before it. */
export class LineCut extends Error {
  /** What operators know it by, whether it was closed or reset. */
  readonly code = 'ECONNRESET'

  constructor(cause?: Error) {
    super('The upstream ended the connection before its answer was over', { cause })
  }
}

/** How it is known where a body ends. */
type Body = { readonly by: 'chunks'; readonly chunks: Chunks } | { readonly by: 'length' } | { readonly by: 'close' }

/** Reads one answer of HTTP/1.1 from the bytes of a connection, wherever they are cut. Throws where it is none. */
export class AnswerReader {
  private readonly sink: AnswerSink
  private started = ''
  private body: Body | undefined
  private left = 0
  /** All of it has come. */
  isOver = false
  /** Its connection is good for another request. */
  isKept = true

  constructor(sink: AnswerSink) {
    this.sink = sink
  }

  get hasBegun(): boolean {
    return this.body !== undefined
  }

  push(bytes: Buffer): void {
    const from = this.body ? 0 : this.readHead(bytes)
    if (!this.body || from === bytes.length) return
    if (this.isOver) this.isKept = false
    else this.readBody(this.body, bytes, from)
  }

  /** The other side has ended the connection. */
  close(): void {
    if (this.body?.by !== 'close') throw new LineCut()
    this.isKept = false
    this.isOver = true
  }

  /** Returns where the body begins. */
  private readHead(bytes: Buffer): number {
    let from = 0
    while (from < bytes.length && !this.body) {
      const text = this.headText(bytes, from)
      if (text === undefined) return bytes.length
      from += text.length + HEAD_END.length - this.started.length
      this.started = ''
      const head = new Head(text)
      if (head.status === 101) throw new Error('The upstream wants to speak another protocol')
      // Below, hints of what is to come: the answer is still awaited.
      if (head.status >= 200) this.begin(head)
    }
    return from
  }

  /** Undefined until all of it has come. */
  private headText(bytes: Buffer, from: number): string | undefined {
    const end = this.started === '' ? bytes.indexOf(HEAD_END, from) : -1
    if (end !== -1 && end - from <= HEAD_BYTES_MAX) return bytes.toString('latin1', from, end)
    const known = this.started.length
    const text = this.started + bytes.toString('latin1', from, from + HEAD_BYTES_MAX + HEAD_END.length)
    const cut = known === 0 ? -1 : text.indexOf(HEAD_END, Math.max(0, known - HEAD_END.length))
    if (cut !== -1 && cut <= HEAD_BYTES_MAX) return text.slice(0, cut)
    // What does not even begin like HTTP need not be waited for.
    if (!text.startsWith(VERSION.slice(0, text.length))) throw new Error('The upstream does not speak HTTP/1.1')
    // Lines that end in another way are not told apart from a head that goes on, and would be waited for.
    if (text.includes('\n\n')) throw new Error('The upstream does not end its lines as HTTP/1.1 does')
    if (text.length >= HEAD_BYTES_MAX + HEAD_END.length) throw new Error('The upstream sent too many headers')
    this.started = text
    return undefined
  }

  private begin(head: Head): void {
    const connection = head.get('connection')?.toLowerCase() ?? ''
    this.isKept = head.isOldHttp ? connection.includes('keep-alive') : !connection.includes('close')
    this.body = this.framingOf(head)
    this.sink.head(head)
    if (this.body.by === 'length' && this.left === 0) this.isOver = true
  }

  private framingOf(head: Head): Body {
    const { status } = head
    const lengths = head.all('content-length')
    if (status === 204 || status === 304) return { by: 'length' }
    if (isChunked(head)) {
      // Two answers to where it ends: whoever wrote the other one may have meant something to follow.
      if (lengths.length > 0) this.isKept = false
      return { by: 'chunks', chunks: new Chunks() }
    }
    const [length] = lengths
    if (length === undefined) return { by: 'close' }
    if (!/^\d{1,15}$/.test(length) || lengths.some(other => other !== length)) {
      throw new Error('The upstream sent an answer of no length')
    }
    this.left = Number(length)
    return { by: 'length' }
  }

  private readBody(body: Body, bytes: Uint8Array, from: number): void {
    if (body.by === 'chunks') this.readChunks(body.chunks, bytes, from)
    else if (body.by === 'length') this.readLength(bytes, from)
    else this.sink.body(bytes.subarray(from))
  }

  private readChunks(chunks: Chunks, bytes: Uint8Array, from: number): void {
    const { end, rest } = chunks.join(bytes, from)
    // For every piece of a stream; a part of a `Buffer`, which is what these are, would take several times as long.
    if (end > from) this.sink.body(new Uint8Array(bytes.buffer, bytes.byteOffset + from, end - from))
    if (chunks.isOver) this.finish(rest === bytes.length)
  }

  private readLength(bytes: Uint8Array, from: number): void {
    const end = Math.min(bytes.length, from + this.left)
    this.left -= end - from
    this.sink.body(bytes.subarray(from, end))
    if (this.left === 0) this.finish(end === bytes.length)
  }

  /** What is too much is not the beginning of the next answer. */
  private finish(isAll: boolean): void {
    this.isOver = true
    if (!isAll) this.isKept = false
  }
}

function isChunked(head: Head): boolean {
  if (head.get('transfer-encoding') === null) return false
  const codings = new Set(head.all('transfer-encoding').map(coding => coding.toLowerCase()))
  // Said twice in one way, it is meant; in two ways, nobody knows where it ends.
  if (codings.size === 1 && codings.has('chunked')) return true
  if (codings.size === 1 && codings.has('identity')) return false
  throw new Error('The upstream sent its answer in a coding that nobody asked for')
}
