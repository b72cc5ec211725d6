import type { Ask } from '../core/ask.ts'
import type { Protocol } from '../protocol/protocol.ts'
import { withheldNames } from '../protocol/withhold.ts'
import { type Pair, replay } from './pair.ts'

/** Like to like: the same JSON with named edits only. Unknown fields survive because nobody looks at them. */
export function passthrough(ask: Ask, protocol: Protocol): Pair {
  return {
    request: target => ({
      body: protocol.editRequest(ask, target),
      dropped: withheldNames(ask.body, target.withheld),
    }),
    body: (text, view) => protocol.editBody(text, view),
    stream: view => protocol.editStream(view),
    bodyAsStream: (text, view) => replay(protocol.decodeBody(text), protocol.encodeStream(view)),
  }
}
