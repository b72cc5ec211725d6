import type { Room } from './room.ts'
import { Tape } from './tape.ts'

export interface RecordingLimits {
  /** Of one recording. */
  readonly bytesMax: number
  /** Of all of them. */
  readonly room: Room
  /** Whose part of the room it takes. */
  readonly owner: string
}

/**
 * A streamed answer with any number of readers, each of whom gets all of it at its own pace. As long as it is within its
 * limits it is read as fast as it comes, whether anybody reads it or not. One that outgrows them is not kept: it becomes a
 * window that is dropped as its readers move on, is read no faster than the slowest of them, and given up with the last. A
 * reader who takes nothing for minutes loses its connection at the edge, and its place here with it.
 */
export class Recording {
  private readonly limits: RecordingLimits
  private readonly tape = new Tape()
  private readonly readers = new Set<Reader>()
  private readonly abandon = new AbortController()
  private taken = 0
  private isOver = false
  private broken: { readonly error: unknown } | undefined
  private change = Promise.withResolvers<void>()
  private readonly allLeft = Promise.withResolvers<void>()
  /** All of it is here, from its beginning. */
  isKept = true

  constructor(limits: RecordingLimits) {
    this.limits = limits
  }

  /** Aborted when nobody is left to read an answer that is not kept. */
  get abandoned(): AbortSignal {
    return this.abandon.signal
  }

  /** Resolves when the last of its readers has left. */
  get unread(): Promise<void> {
    return this.allLeft.promise
  }

  /** Records a stream to its end. */
  async fill(stream: ReadableStream<Uint8Array>): Promise<void> {
    const source = stream.getReader()
    try {
      for (let read = await source.read(); read.value; read = await source.read()) {
        this.add(read.value)
        while (!this.isKept && this.slowest < this.tape.end) await this.change.promise
      }
    } catch (error) {
      this.broken = { error }
    }
    this.end()
  }

  add(piece: Uint8Array): void {
    this.reserve(this.tape.end + piece.byteLength)
    this.tape.write(piece)
    this.tidy()
    this.tell()
  }

  /** Takes room for so many bytes in all; where there is none, nothing of it is kept for those who come later. */
  reserve(bytes: number): void {
    const { bytesMax, room, owner } = this.limits
    const more = Math.max(0, bytes - this.taken)
    this.isKept = this.isKept && bytes <= bytesMax && (more === 0 || room.take(owner, more))
    if (this.isKept) this.taken += more
  }

  /** How much there is so far. */
  get bytes(): number {
    return this.tape.end
  }

  end(): void {
    this.isOver = true
    this.tidy()
    this.tell()
  }

  /** From the beginning, until it has ended or the caller leaves. */
  join(signal: AbortSignal): Reader {
    const reader = new Reader(this, signal)
    this.readers.add(reader)
    if (signal.aborted) reader.leave()
    return reader
  }

  /** All of it, if this is the last of it; undefined if that is too much to be kept. */
  completed(last: Uint8Array): Uint8Array | undefined {
    const fits = this.tape.end + last.byteLength <= this.limits.bytesMax
    return this.isKept && fits ? Buffer.concat([...this.tape.all(), last]) : undefined
  }

  /** What comes next for a reader: undefined at the end, and for one who has left. */
  async next(reader: Reader): Promise<Uint8Array | undefined> {
    while (reader.place === this.tape.end && !this.isOver && this.readers.has(reader)) await this.change.promise
    if (!this.readers.has(reader)) return undefined
    const piece = this.tape.read(reader.place)
    if (!piece && this.broken) throw this.broken.error
    return piece
  }

  /** Nothing will come after this place. */
  endsAt(place: number): boolean {
    return this.isOver && !this.broken && place === this.tape.end
  }

  /** A reader has taken something, or has left. */
  moved(): void {
    this.tidy()
    this.tell()
  }

  left(reader: Reader): void {
    if (!this.readers.delete(reader)) return
    this.moved()
    if (this.readers.size === 0) this.allLeft.resolve()
  }

  private get slowest(): number {
    let place = this.tape.end
    for (const reader of this.readers) place = Math.min(place, reader.place)
    return place
  }

  /** Gives back what nobody will read any more. */
  private tidy(): void {
    const isUnread = this.readers.size === 0
    if (!this.isKept) this.tape.dropBefore(this.slowest)
    if (!this.isKept && isUnread && !this.isOver) this.abandon.abort()
    const isDone = this.isKept ? this.isOver && isUnread : this.slowest === this.tape.end
    if (!isDone) return
    this.limits.room.giveBack(this.limits.owner, this.taken)
    this.taken = 0
  }

  private tell(): void {
    const { resolve } = this.change
    this.change = Promise.withResolvers()
    resolve()
  }
}

/** One of those who read a recording. */
export class Reader {
  private readonly recording: Recording
  private readonly signal: AbortSignal
  private readonly ending = Promise.withResolvers<'read' | 'left'>()
  /** How much it has taken. */
  place = 0

  constructor(recording: Recording, signal: AbortSignal) {
    this.recording = recording
    this.signal = signal
    signal.addEventListener('abort', this.leave, { once: true })
  }

  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: controller => this.pull(controller),
        cancel: () => this.leave(),
      },
      { highWaterMark: 0 },
    )
  }

  /** Resolves when it has got all that it will get. */
  get over(): Promise<'read' | 'left'> {
    return this.ending.promise
  }

  readonly leave = (): void => this.end('left')

  private end(how: 'read' | 'left'): void {
    this.ending.resolve(how)
    this.signal.removeEventListener('abort', this.leave)
    this.recording.left(this)
  }

  private async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const piece = await this.recording.next(this).catch(error => {
      this.end('read')
      throw error
    })
    // With its last piece: who knows the length of an answer may close the connection as soon as that is there.
    const isLast = !piece || this.recording.endsAt(this.place + piece.byteLength)
    try {
      if (piece) this.pass(piece, controller)
      if (isLast) controller.close()
    } catch {
      // The client left while this was awaited; `cancel` has seen to the rest.
    }
    if (isLast) this.end('read')
  }

  private pass(piece: Uint8Array, controller: ReadableStreamDefaultController<Uint8Array>): void {
    controller.enqueue(piece)
    this.place += piece.byteLength
    this.recording.moved()
  }
}
