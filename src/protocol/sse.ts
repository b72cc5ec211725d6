import { GatewayError } from '../core/failure.ts'

/** One server-sent event. `event` is empty where the stream names none. */
export interface Frame {
  readonly event: string
  readonly data: string
}

/** A frame is held until its blank line comes; a vendor that never sends one must not fill the memory. */
const FRAME_CHARACTERS_MAX = 16 * 1024 * 1024

/** Bytes in any cut, with any line ending, to frames. Synchronous: one chunk in, its complete frames out. */
export class SseReader {
  private readonly decoder = new TextDecoder()
  /** The beginning of a line, in the pieces it came in: a long one is put together once. */
  private rest: string[] = []
  private restLength = 0
  private endsInReturn = false
  private event = ''
  private data: string | undefined

  push(chunk: Uint8Array): Frame[] {
    return this.read(this.decoder.decode(chunk, { stream: true }))
  }

  /** The last frame counts even if the blank line behind it was forgotten. */
  end(): Frame[] {
    return this.read(`${this.decoder.decode()}\n\n`)
  }

  private read(decoded: string): Frame[] {
    const text = this.unifyLineEnds(decoded)
    const frames: Frame[] = []
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.line(this.takeRest() + text.slice(start, end), frames)
      start = end + 1
    }
    this.keepRest(text.slice(start))
    if (this.restLength + (this.data?.length ?? 0) > FRAME_CHARACTERS_MAX) {
      throw new GatewayError({ kind: 'upstream-error', problem: 'The upstream sent a frame that is too long' })
    }
    return frames
  }

  private keepRest(text: string): void {
    if (text === '') return
    this.rest.push(text)
    this.restLength += text.length
  }

  private takeRest(): string {
    if (this.rest.length === 0) return ''
    const rest = this.rest.join('')
    this.rest = []
    this.restLength = 0
    return rest
  }

  private line(line: string, frames: Frame[]): void {
    if (line === '') {
      if (this.data) frames.push({ event: this.event, data: this.data })
      this.event = ''
      this.data = undefined
      return
    }
    if (line.startsWith('data:')) {
      const value = line.charCodeAt(5) === 0x20 ? line.slice(6) : line.slice(5)
      this.data = this.data === undefined ? value : `${this.data}\n${value}`
    } else if (line.startsWith('event:')) {
      this.event = line.slice(6).trim()
    }
  }

  // A "\r" at the end of a chunk may be the first half of "\r\n", so it waits for the next one.
  private unifyLineEnds(decoded: string): string {
    const text = this.endsInReturn ? `\r${decoded}` : decoded
    this.endsInReturn = text.endsWith('\r')
    if (!text.includes('\r')) return text
    return (this.endsInReturn ? text.slice(0, -1) : text).replace(/\r\n?/g, '\n')
  }
}

export const dataFrame = (data: string): string => `data: ${oneLine(data)}\n\n`

export const namedFrame = (event: string, data: string): string => `event: ${event}\ndata: ${oneLine(data)}\n\n`

/** JSON that a vendor spread over several lines: a line break can only stand between its tokens. */
const oneLine = (json: string): string => (json.includes('\n') ? json.replaceAll('\n', ' ') : json)
