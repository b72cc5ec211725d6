import type { Seen } from '../core/seen.ts'
import type { TurnEvent } from '../core/turn.ts'
import type { Answer, AnswerStream, EditedRequest, StreamEncoder, Target, View } from '../protocol/protocol.ts'

/** One caller's dialect against one upstream's: how the request goes there and how the answer comes back. */
export interface Pair {
  request(target: Target): EditedRequest
  body(text: string, view: View): Answer
  stream(view: View): AnswerStream
  /** For an upstream that answers a stream request with a whole body. */
  bodyAsStream(text: string, view: View): AnswerStream
}

/** A whole answer played as the stream it should have been. */
export function replay(events: readonly TurnEvent[], encoder: StreamEncoder, seen: Seen): AnswerStream {
  const text = events.map(event => encoder.push(event)).join('')
  return {
    seen,
    done: true,
    isComplete: true,
    push: () => '',
    pushAlike: () => undefined,
    end: () => text,
    shorten: () => '',
    close: bill => encoder.close(bill),
  }
}
