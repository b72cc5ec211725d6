import type { Socket, SocketHandler } from 'bun'
import { AnswerReader, type AnswerSink, LineCut } from './answer-reader.ts'
import type { Origin } from './origin.ts'

/** One request and its answer, as the connection that carries them sees it. */
export interface Exchange extends AnswerSink {
  /** All of the answer has come; `isKept` if the connection is good for another request. */
  end(isKept: boolean): void
  /** Instead of the end. */
  broken(error: Error): void
}

/** Whoever has opened a connection. */
export interface Opener {
  /** Told once: it is there, or why not. */
  opened(error: Error | undefined): void
  /** Told once: it is there no more. */
  closed(): void
}

/** A connection to an upstream. It carries one exchange at a time. */
export class Connection {
  readonly origin: Origin
  /** When it was last of use, for whoever keeps it. */
  idleSince = 0
  private readonly opener: Opener
  private socket: Socket<Connection> | undefined
  private isOpen = false
  private exchange: Exchange | undefined
  private reader: AnswerReader | undefined
  private unsent: Uint8Array | undefined
  private failure: Error | undefined
  private turns = 0
  private isClosed = false

  constructor(origin: Origin, opener: Opener) {
    this.origin = origin
    this.opener = opener
    const { host: hostname, port, isTls } = origin
    const tls = isTls ? { tls: { serverName: hostname } } : {}
    // A failure is heard of here and not by an event: where there is no way at all, that comes before this line is over.
    Bun.connect({ hostname, port, ...tls, data: this, socket: isTls ? TLS_EVENTS : EVENTS }).catch(error =>
      this.closed(error),
    )
  }

  /** Sends a request. What becomes of it is told to the exchange. */
  send(request: readonly (string | Uint8Array)[], exchange: Exchange): void {
    this.turns++
    this.exchange = exchange
    this.reader = new AnswerReader(exchange)
    this.socket?.ref()
    for (const [place, piece] of request.entries()) {
      const written = this.socket?.write(piece) ?? -1
      if (written === Buffer.byteLength(piece)) continue
      const rest = request.slice(place + 1).map(later => Buffer.from(later))
      this.unsent = Buffer.concat([Buffer.from(piece).subarray(Math.max(0, written)), ...rest])
      if (written === -1) this.drop(new LineCut())
      return
    }
  }

  /** For a request before the one that it carries. */
  get wasUsed(): boolean {
    return this.turns > 1
  }

  pause(): void {
    this.socket?.pause()
  }

  resume(): void {
    if (!this.isClosed) this.socket?.resume()
  }

  /** While it is kept for later, it is no reason for the process to live on. */
  idle(since: number): void {
    this.idleSince = since
    this.socket?.unref()
  }

  /** Ends it at once, whatever it carries. */
  drop(error: Error): void {
    this.failure ??= error
    this.socket?.terminate()
    this.closed(undefined)
  }

  /** Whether there is somebody at the other side, trusted or not: only then can it be ended. */
  get isReached(): boolean {
    return this.socket !== undefined
  }

  // ── what the socket says ──────────────────────────────────────────────────────────────────────────────────────────

  /** The other side is there. */
  reached(socket: Socket<Connection>): void {
    this.socket = socket
    // Requests leave whole; to wait for more of them would only cost time.
    socket.setNoDelay(true)
    if (!this.origin.isTls) this.opened()
  }

  /** And it has proved who it is, where it must. */
  opened(): void {
    this.isOpen = true
    this.opener.opened(undefined)
  }

  received(bytes: Buffer): void {
    const { reader } = this
    try {
      // Whatever it is, it must not become the answer to the next request.
      if (!reader) throw new Error('The upstream spoke without being asked')
      reader.push(bytes)
      if (reader.isOver) this.finish(reader)
    } catch (error) {
      // What comes first after an earlier answer may belong to that one: this request has not been heard then.
      const isOutOfStep = this.wasUsed && reader?.hasBegun === false
      this.drop(isOutOfStep ? new LineCut(error as Error) : (error as Error))
    }
  }

  private finish({ isKept }: AnswerReader): void {
    const { exchange } = this
    this.exchange = undefined
    this.reader = undefined
    // An answer that came before its request had left: the rest of that would be taken for the next one.
    const isInArrears = this.unsent !== undefined
    if (!isKept || isInArrears) this.drop(new Error('The connection is of no more use'))
    exchange?.end(isKept && !isInArrears)
  }

  /** Who will say no more is not asked any more: from this moment on, whenever the socket is closed. */
  ended(): void {
    this.closed(undefined)
    this.socket?.end()
  }

  drained(): void {
    if (!this.unsent) return
    const written = this.socket?.write(this.unsent) ?? -1
    if (written < 0) return
    this.unsent = written < this.unsent.byteLength ? this.unsent.subarray(written) : undefined
  }

  closed(error: Error | undefined): void {
    if (this.isClosed) return
    this.isClosed = true
    if (!this.isOpen) this.opener.opened(this.failure ?? this.refusal(error))
    this.opener.closed()
    const { exchange, reader } = this
    if (!exchange || !reader) return
    try {
      if (this.failure) throw this.failure
      if (error) throw new LineCut(error)
      reader.close()
      this.finish(reader)
    } catch (broken) {
      exchange.broken(broken as Error)
    }
  }

  /** Why it never came to be: there was nobody, or whoever was there left before it had proved who it is. */
  private refusal(error: Error | undefined): Error {
    if (this.isReached) return new LineCut(error)
    return error ?? new Error('The connection was refused')
  }
}

/** One object for all connections: what a socket belongs to is in its data. */
const EVENTS: SocketHandler<Connection> = {
  open: socket => socket.data.reached(socket),
  data: (socket, bytes) => socket.data.received(bytes),
  drain: socket => socket.data.drained(),
  end: socket => socket.data.ended(),
  close: (socket, error) => socket.data.closed(error),
  error: (socket, error) => socket.data.drop(error),
}

/** Nothing is sent to whoever has not proved to be the host that was asked for. */
const TLS_EVENTS: SocketHandler<Connection> = {
  ...EVENTS,
  handshake(socket, isTrusted, error) {
    if (isTrusted) socket.data.opened()
    else socket.data.drop(unproved(error))
  },
}

/** What the library of ciphers says of a server without TLS is understood by few. */
function unproved(error: (Error & { readonly code?: unknown }) | null): Error {
  if (!error) return new Error('The upstream could not prove who it is')
  if (error.code !== 'EPROTO') return error
  return new Error(`EPROTO: The upstream does not speak TLS on this port, or none we know: ${error.message}`)
}
