import { ANSWER_LENGTH_MAX, answerTooLong } from '../core/failure.ts'
import type { Seen } from '../core/seen.ts'
import type { AnswerStream, Bill, StreamFolder } from '../protocol/protocol.ts'
import { type Frame, SseReader } from '../protocol/sse.ts'

const utf8 = new TextEncoder()

/**
 * A whole answer that is metered as a stream: the caller gets nothing of it until it is over, and then the body that the
 * stream would have become in the hands of a client.
 */
export class FoldedStream implements AnswerStream {
  private readonly stream: AnswerStream
  private readonly folder: StreamFolder
  private readonly reader = new SseReader()
  private characters = 0

  constructor(stream: AnswerStream, folder: StreamFolder) {
    this.stream = stream
    this.folder = folder
  }

  get seen(): Seen {
    return this.stream.seen
  }

  get done(): boolean {
    return this.stream.done
  }

  get isComplete(): boolean {
    return this.stream.isComplete
  }

  push(frame: Frame): string {
    return this.keep(this.stream.push(frame))
  }

  pushAlike(source: SseReader, charactersMax = -1): string | undefined {
    const text = this.stream.pushAlike(source, charactersMax)
    return text === undefined ? undefined : this.keep(text)
  }

  end(): string {
    return this.keep(this.stream.end())
  }

  shorten(): string {
    return this.keep(this.stream.shorten())
  }

  close(bill: Bill): string {
    this.keep(this.stream.close(bill))
    return this.folder.render()
  }

  private keep(text: string): string {
    this.characters += text.length
    if (this.characters > ANSWER_LENGTH_MAX) throw answerTooLong()
    if (text !== '') for (const frame of this.reader.push(utf8.encode(text))) this.folder.push(frame)
    return ''
  }
}
