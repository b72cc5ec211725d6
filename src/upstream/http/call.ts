import { LineCut } from './answer-reader.ts'
import type { Connection, Exchange } from './connection.ts'
import { Connections, type Waiting } from './connections.ts'
import type { Head } from './head.ts'
import type { Origin, Target } from './origin.ts'
import { requestOf } from './request.ts'

/** What of the head of an answer anyone looks at. */
export type Said = Pick<Head, 'status' | 'get'>

/** A request, and who is told what becomes of it. */
export interface Asked {
  readonly target: Target
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | readonly Uint8Array[]
  /** The connection is there. */
  connected(): void
  /** The answer begins. */
  answered(head: Said): void
  /** There will be no answer. */
  failed(error: Error): void
}

/** An answer under way, read as it comes. */
export interface Incoming {
  /** The next bytes, undefined at the end. Asked for one at a time. */
  read(): Promise<Uint8Array | undefined>
  /** Nobody reads on: whoever writes is told at once. */
  cancel(): void
  /** What came was no answer: nothing that follows on its connection can be believed. */
  distrust(): void
}

/** Bytes that may wait for a reader; beyond, the connection is left alone until half of them are gone. */
const WAITING_BYTES_MAX = 256 * 1024

const connections = new Connections()
const CALLED_OFF = new Error('Nobody waits for the answer')

/** One request over a connection of ours, from there to the end of its answer. */
export class Call implements Incoming, Waiting, Exchange {
  private readonly origin: Origin
  /** These two only until the answer begins: they hold the request, which may be long, and the answer may last. */
  private asked: Asked | undefined
  private request: readonly (string | Uint8Array)[]
  private connection: Connection | undefined
  private hasBegun = false
  private isOver = false
  private isPaused = false
  /** Received, and not yet read. */
  private readonly waiting: Uint8Array[] = []
  private waitingBytes = 0
  private failure: Error | undefined
  private reading: PromiseWithResolvers<Uint8Array | undefined> | undefined

  constructor(asked: Asked) {
    this.origin = asked.target.origin
    this.asked = asked
    this.request = requestOf(asked)
    connections.ask(this.origin, this)
  }

  read(): Promise<Uint8Array | undefined> {
    const bytes = this.waiting.shift()
    if (bytes) return Promise.resolve(this.taken(bytes))
    if (this.failure) return Promise.reject(this.failure)
    if (this.isOver) return Promise.resolve(undefined)
    this.reading = Promise.withResolvers()
    return this.reading.promise
  }

  cancel(): void {
    if (this.isOver) return
    this.waiting.length = 0
    connections.forget(this.origin, this)
    this.connection?.drop(CALLED_OFF)
    this.broken(CALLED_OFF)
  }

  distrust(): void {
    if (this.isOver && this.connection) connections.discard(this.connection)
    else this.cancel()
  }

  private taken(bytes: Uint8Array): Uint8Array {
    this.waitingBytes -= bytes.byteLength
    if (this.isPaused && this.waitingBytes < WAITING_BYTES_MAX / 2) this.goOn()
    return bytes
  }

  private goOn(): void {
    this.isPaused = false
    this.connection?.resume()
  }

  // ── what the connection says ──────────────────────────────────────────────────────────────────────────────────────

  connected(connection: Connection): void {
    this.connection = connection
    this.asked?.connected()
    connection.send(this.request, this)
    this.request = []
  }

  refused(error: Error): void {
    this.broken(error)
  }

  head(head: Head): void {
    this.asked?.answered(head)
    this.asked = undefined
    this.hasBegun = true
  }

  body(bytes: Uint8Array): void {
    const { reading } = this
    this.reading = undefined
    if (reading) reading.resolve(bytes)
    else this.store(bytes)
  }

  private store(bytes: Uint8Array): void {
    this.waiting.push(bytes)
    this.waitingBytes += bytes.byteLength
    if (this.waitingBytes < WAITING_BYTES_MAX || this.isPaused) return
    this.isPaused = true
    this.connection?.pause()
  }

  end(isKept: boolean): void {
    this.isOver = true
    // What waits here is read by and by; whoever is next on the connection is not to wait for that.
    if (this.isPaused) this.goOn()
    if (isKept && this.connection) connections.keep(this.connection)
    this.reading?.resolve(undefined)
  }

  broken(error: Error): void {
    if (this.isOver) return
    this.isOver = true
    this.failure = error
    this.reading?.reject(error)
    if (this.hasBegun) return
    // Whoever closed it has closed those that were idle for longer, too: the next try must not take one of them.
    if (this.connection?.wasUsed && error instanceof LineCut) connections.dropKept(this.origin)
    this.asked?.failed(error)
  }
}
