import { GatewayError } from '../../src/core/failure.ts'
import { passthrough } from '../../src/gateway/passthrough.ts'
import { translate } from '../../src/gateway/translate.ts'
import { count } from '../../src/metering/count.ts'
import type { AnswerStream, Protocol, View } from '../../src/protocol/protocol.ts'
import { PROTOCOLS } from '../../src/protocol/protocols.ts'
import { type Frame, SseReader } from '../../src/protocol/sse.ts'
import type { Protocol as ProtocolName } from '../pairs/pairs.ts'
import { type Case, pairOf } from './cases.ts'

/** Through sockets this would take very long; the classes that do the work are pure, and need none. */

const VIEW: View = {
  id: '0'.repeat(32),
  model: 'acme/m',
  createdSeconds: 1,
  includeUsage: true,
  showThinking: true,
  promptEstimate: 8,
  textTools: new Set(),
  legacyCalls: false,
  wantsJson: false,
  choices: 1,
}

/** One way from the bytes of an upstream to those of a client; each run starts it anew. */
export interface Way {
  readonly client: Protocol
  begin(view: View): AnswerStream
}

function askOf(client: Protocol) {
  const body = { model: VIEW.model, max_tokens: 1024, stream: true, messages: [{ role: 'user', content: 'q' }] }
  return client.read(body, JSON.stringify(body))
}

export function translated(each: Case): Way {
  const { client, upstream } = pairOf(each)
  const [here, there] = [PROTOCOLS[client], PROTOCOLS[upstream]]
  const pair = translate(askOf(here), here, there)
  return { client: here, begin: view => pair.stream(view) }
}

export function passedOn(upstream: ProtocolName): Way {
  const protocol = PROTOCOLS[upstream]
  const pair = passthrough(askOf(protocol), protocol)
  return { client: protocol, begin: view => pair.stream(view) }
}

/** The same through the vocabulary and back: what passing on must agree with. */
export function retold(upstream: ProtocolName): Way {
  const protocol = PROTOCOLS[upstream]
  const pair = translate(askOf(protocol), protocol, protocol)
  return { client: protocol, begin: view => pair.stream(view) }
}

/** All that the client gets, and the bill; a stream that fails ends with the error's own frames. */
export function heard({ client, begin }: Way, view: View, chunks: readonly Uint8Array[]): string {
  const reader = new SseReader()
  const answer = begin(view)
  let text = ''
  const pass = (frames: readonly Frame[]) => {
    for (const frame of frames) if (!answer.done) text += answer.push(frame)
  }
  try {
    for (const chunk of chunks) pass(reader.push(chunk))
    if (!answer.done) pass(reader.end())
    text += answer.end()
    text += answer.close({ usage: count(answer.seen, view.promptEstimate).usage, cost: '0' })
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    text += client.errorFrames(error.failure, { requestId: 'abc' })
  }
  return text.replaceAll(/call_[0-9a-f]{24}/g, 'call_minted')
}

export const bytesOf = ({ upstream_frames: frames = [] }: Case) => new TextEncoder().encode(frames.join(''))

export const viewOf = ({ request }: Case): View => ({
  ...VIEW,
  includeUsage: request?.stream_options?.include_usage ?? false,
})
