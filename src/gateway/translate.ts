import type { Ask } from '../core/ask.ts'
import { type Seen, seenIn } from '../core/seen.ts'
import type { TurnEvent } from '../core/turn.ts'
import { unwrapperFor } from '../protocol/json-mode.ts'
import type {
  AnswerStream,
  Bill,
  EncodedRequest,
  Protocol,
  StreamDecoder,
  StreamEncoder,
} from '../protocol/protocol.ts'
import type { Frame } from '../protocol/sse.ts'
import { type Pair, replay } from './pair.ts'

/** Through the vocabulary: decode what one says, encode what the other understands. */
export function translate(ask: Ask, client: Protocol, upstream: Protocol): Pair {
  const turn = client.decodeRequest(ask)
  let restore: Restore = events => events
  let isEmulated = false
  const both = (events: readonly TurnEvent[]) => [events, restore(events)] as const
  return {
    request(target) {
      const encoded = upstream.encodeRequest(turn, target)
      restore = restorer(encoded)
      isEmulated = encoded.emulation !== undefined
      return { body: encoded.body, dropped: [...turn.dropped, ...encoded.dropped] }
    },
    body: (text, view) => {
      const [events, restored] = both(upstream.decodeBody(text))
      const { render } = client.encodeBody(restored, view)
      return { seen: seenIn(events, restored), render }
    },
    stream: view => {
      const decoder = upstream.decodeStream({ callsMayOverlap: client.name === 'chat' && !isEmulated })
      return new TranslatedStream(decoder, client.encodeStream(view), restore)
    },
    bodyAsStream: (text, view) => {
      const [events, restored] = both(upstream.decodeBody(text))
      return replay(restored, client.encodeStream(view), seenIn(events, restored))
    },
  }
}

type Restore = (events: readonly TurnEvent[]) => readonly TurnEvent[]

/** Takes back what the request had to change: the caller sees an answer to what was asked. */
function restorer({ renamed, emulation }: EncodedRequest): Restore {
  const unwrapper = emulation && unwrapperFor(emulation)
  const unwrap: Restore = unwrapper ? events => events.flatMap(event => unwrapper.push(event)) : events => events
  return renamed.size === 0 ? unwrap : events => unwrap(events).map(event => withName(event, renamed))
}

function withName(event: TurnEvent, renamed: ReadonlyMap<string, string>): TurnEvent {
  if (event.type !== 'open' || event.block.type !== 'tool-call') return event
  return { type: 'open', block: { ...event.block, name: renamed.get(event.block.name) ?? event.block.name } }
}

class TranslatedStream implements AnswerStream {
  /** What the upstream has written is billed, whatever of it the caller gets to see, and when. */
  readonly seen: Seen
  private readonly decoder: StreamDecoder
  private readonly encoder: StreamEncoder
  private readonly restore: Restore

  constructor(decoder: StreamDecoder, encoder: StreamEncoder, restore: Restore) {
    this.seen = decoder.seen
    this.decoder = decoder
    this.encoder = encoder
    this.restore = restore
  }

  get done(): boolean {
    return this.decoder.done
  }

  get isComplete(): boolean {
    return this.decoder.isComplete
  }

  push(frame: Frame): string {
    const text = this.write(this.restore(this.decoder.push(frame)))
    this.seen.usage = this.decoder.usage ?? this.seen.usage
    this.seen.reported ||= this.decoder.isReported
    return text
  }

  end(): string {
    return this.write(this.restore(this.decoder.end()))
  }

  shorten(): string {
    // What was held back until it is whole is paid for, so it is delivered as it is.
    return this.write(this.restore(this.decoder.cut()))
  }

  close(bill: Bill): string {
    return this.encoder.close(bill)
  }

  private write(events: readonly TurnEvent[]): string {
    let text = ''
    for (const event of events) {
      if (event.type !== 'delta') this.seen.event(event)
      text += this.encoder.push(event)
    }
    return text
  }
}
