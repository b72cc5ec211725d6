import type { Ask } from '../core/ask.ts'
import { Seen } from '../core/seen.ts'
import type { TurnEvent } from '../core/turn.ts'
import { JsonUnwrapper } from '../protocol/json-mode.ts'
import type { AnswerStream, Bill, Protocol, StreamDecoder, StreamEncoder } from '../protocol/protocol.ts'
import type { Frame } from '../protocol/sse.ts'
import { type Pair, replay } from './pair.ts'

/** Unlike to unlike, through the vocabulary: decode what one says, encode what the other understands. */
export function translate(ask: Ask, client: Protocol, upstream: Protocol): Pair {
  const turn = client.decodeRequest(ask)
  let unwrap = (events: readonly TurnEvent[]) => events
  return {
    request(target) {
      const encoded = upstream.encodeRequest(turn, target)
      if (encoded.outputTool !== undefined) unwrap = unwrapper(encoded.outputTool)
      return { ...encoded, dropped: [...turn.dropped, ...encoded.dropped] }
    },
    body: (text, view) => client.encodeBody(unwrap(upstream.decodeBody(text)), view),
    stream: view => new TranslatedStream(upstream.decodeStream(), client.encodeStream(view), unwrap),
    bodyAsStream: (text, view) => replay(unwrap(upstream.decodeBody(text)), client.encodeStream(view)),
  }
}

type Unwrap = (events: readonly TurnEvent[]) => readonly TurnEvent[]

function unwrapper(outputTool: string): Unwrap {
  const json = new JsonUnwrapper(outputTool)
  return events => events.flatMap(event => json.push(event))
}

class TranslatedStream implements AnswerStream {
  readonly seen = new Seen()
  private readonly decoder: StreamDecoder
  private readonly encoder: StreamEncoder
  private readonly unwrap: Unwrap
  private isOpen = false

  constructor(decoder: StreamDecoder, encoder: StreamEncoder, unwrap: Unwrap) {
    this.decoder = decoder
    this.encoder = encoder
    this.unwrap = unwrap
  }

  get done(): boolean {
    return this.decoder.done
  }

  get isComplete(): boolean {
    return this.decoder.isComplete
  }

  push(frame: Frame): string {
    const text = this.encode(this.decoder.push(frame))
    this.seen.usage = this.decoder.usage ?? this.seen.usage
    this.seen.reported ||= this.decoder.isReported
    return text
  }

  end(): string {
    return this.encode(this.decoder.end())
  }

  shorten(): string {
    const closing: TurnEvent[] = this.isOpen ? [{ type: 'close' }] : []
    return this.write([...closing, { type: 'finish', reason: 'length', stopSequence: undefined, usage: undefined }])
  }

  close(bill: Bill): string {
    return this.encoder.close(bill)
  }

  private encode(events: readonly TurnEvent[]): string {
    return this.write(this.unwrap(events))
  }

  private write(events: readonly TurnEvent[]): string {
    let text = ''
    for (const event of events) {
      this.seen.event(event)
      if (event.type === 'open' || event.type === 'close') this.isOpen = event.type === 'open'
      text += this.encoder.push(event)
    }
    return text
  }
}
