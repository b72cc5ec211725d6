import { GatewayError } from '../core/failure.ts'
import { NEW_LINE, SPACE } from './json-codes.ts'

/** One server-sent event. `event` is empty where the stream names none. */
export interface Frame {
  readonly event: string
  readonly data: string
}

/** A frame is held until its blank line comes; a vendor that never sends one must not fill the memory. */
const FRAME_CHARACTERS_MAX = 16 * 1024 * 1024

/**
 * Bytes in any cut, with any line ending, to frames. Synchronous: a chunk goes in, its complete frames come out, one by
 * one or all at once.
 */
export class SseReader {
  private readonly decoder = new TextDecoder()
  /** What is being read. The next frame begins at `at`. */
  text = ''
  at = 0
  /** Read, and not yet taken. */
  private ahead: Frame | undefined
  private aheadEnd = 0
  private isDrained = true
  /** The beginning of a frame, in the pieces it came in: a long one is put together once. */
  private pieces: string[] = []
  private piecesLength = 0
  private endsInReturn = false

  push(chunk: Uint8Array): Frame[] {
    this.take(chunk)
    return this.all()
  }

  end(): Frame[] {
    this.takeEnd()
    return this.all()
  }

  take(chunk: Uint8Array): void {
    this.add(this.decoder.decode(chunk, { stream: true }))
  }

  /** The last frame counts even if the blank line behind it was forgotten. */
  takeEnd(): void {
    this.add(`${this.decoder.decode()}\n\n`)
  }

  get hasNext(): boolean {
    if (this.ahead === undefined && !this.isDrained) this.ahead = this.scan()
    return this.ahead !== undefined
  }

  next(): Frame | undefined {
    if (!this.hasNext) return undefined
    const frame = this.ahead
    this.skipTo(this.aheadEnd)
    return frame
  }

  /** Up to the end of a frame: somebody else has read what lies before it. */
  skipTo(place: number): void {
    this.at = place
    this.ahead = undefined
  }

  /** What has come is not wanted any more. */
  drop(): void {
    this.skipTo(this.text.length)
  }

  private all(): Frame[] {
    const frames: Frame[] = []
    for (let frame = this.next(); frame; frame = this.next()) frames.push(frame)
    return frames
  }

  private add(decoded: string): void {
    const fresh = this.unifyLineEnds(decoded)
    if (this.isDrained && this.pieces.length > 0 && !this.completes(fresh)) {
      this.keep(fresh)
      return
    }
    const rest = this.takePieces() + this.text.slice(this.at)
    // Mostly nothing is left: what is put together would be copied as a whole when it is read.
    this.text = rest === '' ? fresh : rest + fresh
    this.skipTo(0)
    this.isDrained = false
  }

  /** Whether a blank line comes with what is new, or only its second half. */
  private completes(fresh: string): boolean {
    return fresh.includes('\n\n') || (fresh.startsWith('\n') && (this.pieces.at(-1) ?? '').endsWith('\n'))
  }

  private keep(text: string): void {
    if (text === '') return
    this.pieces.push(text)
    this.piecesLength += text.length
    if (this.piecesLength > FRAME_CHARACTERS_MAX) {
      throw new GatewayError({ kind: 'upstream-error', problem: 'The upstream sent a frame that is too long' })
    }
  }

  private takePieces(): string {
    if (this.pieces.length === 0) return ''
    const text = this.pieces.join('')
    this.pieces = []
    this.piecesLength = 0
    return text
  }

  /** The next frame that says something; without one, what is left waits for more. */
  private scan(): Frame | undefined {
    const { text } = this
    for (;;) {
      while (text.charCodeAt(this.at) === NEW_LINE) this.at++
      const end = blankLine(text, this.at)
      if (end === -1) {
        this.drain()
        return undefined
      }
      const frame = frameIn(text, this.at, end)
      if (frame) {
        this.aheadEnd = end + 2
        return frame
      }
      this.at = end + 2
    }
  }

  private drain(): void {
    const rest = this.text.slice(this.at)
    this.isDrained = true
    this.text = ''
    this.at = 0
    this.keep(rest)
  }

  // A "\r" at the end of a chunk may be the first half of "\r\n", so it waits for the next one.
  private unifyLineEnds(decoded: string): string {
    const text = this.endsInReturn ? `\r${decoded}` : decoded
    this.endsInReturn = text.endsWith('\r')
    if (!text.includes('\r')) return text
    return (this.endsInReturn ? text.slice(0, -1) : text).replace(/\r\n?/g, '\n')
  }
}

/** Where the line ends that a blank one follows, -1 if there is none. */
function blankLine(text: string, from: number): number {
  let end = text.indexOf('\n', from)
  while (end !== -1 && text.charCodeAt(end + 1) !== NEW_LINE) end = text.indexOf('\n', end + 1)
  return end
}

/** The frame whose lines these are; one without data is none. */
function frameIn(text: string, from: number, to: number): Frame | undefined {
  let event = ''
  let data: string | undefined
  for (let start = from; start < to; ) {
    const found = text.indexOf('\n', start)
    const end = found === -1 ? to : Math.min(found, to)
    if (text.startsWith('data:', start)) {
      const value = text.slice(text.charCodeAt(start + 5) === SPACE ? start + 6 : start + 5, end)
      data = data === undefined ? value : `${data}\n${value}`
    } else if (text.startsWith('event:', start)) {
      event = text.slice(start + 6, end).trim()
    }
    start = end + 1
  }
  return data ? { event, data } : undefined
}

export const dataFrame = (data: string): string => `data: ${oneLine(data)}\n\n`

export const namedFrame = (event: string, data: string): string => `event: ${event}\ndata: ${oneLine(data)}\n\n`

/** JSON that a vendor spread over several lines: a line break can only stand between its tokens. */
const oneLine = (json: string): string => (json.includes('\n') ? json.replaceAll('\n', ' ') : json)
