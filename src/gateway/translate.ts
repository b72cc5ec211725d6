import type { Ask } from '../core/ask.ts'
import { type Seen, seenIn } from '../core/seen.ts'
import type { TurnEvent } from '../core/turn.ts'
import { Alike } from '../protocol/alike.ts'
import { unwrapperFor } from '../protocol/json-mode.ts'
import type {
  AnswerStream,
  Bill,
  EncodedRequest,
  Protocol,
  StreamDecoder,
  StreamEncoder,
} from '../protocol/protocol.ts'
import type { Frame, SseReader } from '../protocol/sse.ts'
import { type Pair, replay } from './pair.ts'

/** Through the vocabulary: decode what one says, encode what the other understands. */
export function translate(ask: Ask, client: Protocol, upstream: Protocol): Pair {
  const turn = client.decodeRequest(ask)
  let restore: Restore = AS_IT_IS
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
      return new TranslatedStream(decoder, client.encodeStream(view), { restore, isEmulated })
    },
    bodyAsStream: (text, view) => {
      const [events, restored] = both(upstream.decodeBody(text))
      return replay(restored, client.encodeStream(view), seenIn(events, restored))
    },
  }
}

interface Restoring {
  readonly restore: Restore
  /** What is written is not what is shown. */
  readonly isEmulated: boolean
}

type Restore = (events: readonly TurnEvent[]) => readonly TurnEvent[]

/** Out here it refers to nothing: made where it is used, it would keep the whole request for as long as its answer lasts. */
const AS_IT_IS: Restore = events => events

/** Takes back what the request had to change: the caller sees an answer to what was asked. */
function restorer({ renamed, emulation }: EncodedRequest): Restore {
  const unwrapper = emulation && unwrapperFor(emulation)
  const unwrap: Restore = unwrapper ? events => events.flatMap(event => unwrapper.push(event)) : AS_IT_IS
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
  private readonly isEmulated: boolean
  private readonly alike: Alike

  constructor(decoder: StreamDecoder, encoder: StreamEncoder, { restore, isEmulated }: Restoring) {
    this.seen = decoder.seen
    this.decoder = decoder
    this.encoder = encoder
    this.restore = restore
    this.isEmulated = isEmulated
    this.alike = new Alike(decoder.seen)
  }

  get done(): boolean {
    return this.decoder.done
  }

  get isComplete(): boolean {
    return this.decoder.isComplete
  }

  push(frame: Frame): string {
    this.alike.forget()
    const text = this.write(this.restore(this.decoder.push(frame)))
    this.seen.usage = this.decoder.usage ?? this.seen.usage
    this.seen.reported ||= this.decoder.isReported
    const { soleText } = this.decoder
    if (soleText && !this.isEmulated) this.alike.learn(frame, soleText, () => this.encoder.aroundDelta())
    return text
  }

  pushAlike(source: SseReader, charactersMax = -1): string | undefined {
    return this.alike.next(source, charactersMax)
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
