/** Server-sent events, as a browser reads them, from text that comes in pieces of any size. */

export interface SseEvent {
  /** Empty where the stream names none. */
  readonly event: string
  readonly data: string
}

/** A stream that never ends an event would fill the memory. */
const EVENT_CHARACTERS_MAX = 4_000_000

export class SseReader {
  private rest = ''
  private event = ''
  private data: string[] = []
  private size = 0

  /** The events that this piece completes. */
  push(piece: string): readonly SseEvent[] {
    this.rest += piece
    const lines = this.takeLines()
    if (this.rest.length + this.size > EVENT_CHARACTERS_MAX) throw new Error('an event of the stream is too large')
    return lines.flatMap(line => this.readLine(line))
  }

  /** A stream that ends without a blank line still has said its last event: cut answers are worth seeing. */
  end(): readonly SseEvent[] {
    const last = this.rest === '' ? [] : this.readLine(this.rest.replace(/\r$/, ''))
    this.rest = ''
    return [...last, ...this.finish()]
  }

  /** Lines end by CR, LF or both; a CR at the very end may be half of one. */
  private takeLines(): readonly string[] {
    const isHalf = this.rest.endsWith('\r')
    const lines = (isHalf ? this.rest.slice(0, -1) : this.rest).split(/\r\n|\n|\r/)
    const open = lines.pop() ?? ''
    this.rest = isHalf ? `${open}\r` : open
    return lines
  }

  private readLine(line: string): readonly SseEvent[] {
    if (line === '') return this.finish()
    const colon = line.indexOf(':')
    // Lines that begin with a colon only keep the connection awake.
    if (colon === 0) return []
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') this.event = value
    if (field === 'data') {
      this.data.push(value)
      this.size += value.length
    }
    return []
  }

  private finish(): readonly SseEvent[] {
    const { event, data } = this
    this.event = ''
    this.data = []
    this.size = 0
    return data.length === 0 ? [] : [{ event, data: data.join('\n') }]
  }
}
