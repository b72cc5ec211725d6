import type { Ask } from '../core/ask.ts'
import { seenIn } from '../core/seen.ts'
import type { Protocol } from '../protocol/protocol.ts'
import { type Pair, replay } from './pair.ts'

/** Like to like: the same JSON with named edits only. Unknown fields survive because nobody looks at them. */
export function passthrough(ask: Ask, protocol: Protocol): Pair {
  return {
    request: target => protocol.editRequest(ask, target),
    body: (text, view) => protocol.editBody(text, view),
    stream: view => protocol.editStream(view),
    bodyAsStream: (text, view) => {
      const events = protocol.decodeBody(text)
      return replay(events, protocol.encodeStream(view), seenIn(events, events))
    },
  }
}
