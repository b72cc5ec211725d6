import type { Ask, ProtocolName } from '../../../src/core/ask.ts'
import { DEFAULT_CAPABILITIES } from '../../../src/core/capabilities.ts'
import { GatewayError } from '../../../src/core/failure.ts'
import { NO_USAGE } from '../../../src/core/usage.ts'
import type { Pair } from '../../../src/gateway/pair.ts'
import { passthrough } from '../../../src/gateway/passthrough.ts'
import { translate } from '../../../src/gateway/translate.ts'
import type { AnswerStream, Target, View } from '../../../src/protocol/protocol.ts'
import { PROTOCOLS } from '../../../src/protocol/protocols.ts'
import { SseReader } from '../../../src/protocol/sse.ts'
import type { JsonBody } from '../../support/duet.ts'
import type { Random } from './cases.ts'

export const COST = '0.001000'

export const askOf = (protocol: ProtocolName, body: JsonBody): Ask => {
  const text = JSON.stringify(body)
  return PROTOCOLS[protocol].read(JSON.parse(text), text)
}

export const targetFor = (protocol: ProtocolName, more: Partial<Target> = {}): Target => ({
  model: 'the-vendors-own-name',
  maxTokens: 500,
  maxOutputTokens: 8192,
  reasoning: false,
  capabilities: DEFAULT_CAPABILITIES[protocol],
  withheld: [],
  ...more,
})

/** Names that only some servers take, and one that no rename may touch. */
const TOOLS = ['count', 'look up', 'a.b/c', 'é', `long_${'x'.repeat(80)}`]

interface Stage {
  readonly pair: Pair
  /** The names of the tools, as the upstream was given them, with those that the caller knows. */
  readonly names: ReadonlyMap<string, string>
}

/** A pair that has sent its request, so that it knows what to take back from the answer. */
export function stageOf({ client, upstream }: { client: ProtocolName; upstream: ProtocolName }): Stage {
  const tools = TOOLS.map(name =>
    client === 'chat'
      ? { type: 'function', function: { name, parameters: { type: 'object' } } }
      : { name, input_schema: { type: 'object' } },
  )
  const messages = [{ role: 'user', content: 'Hello' }]
  const ask = askOf(client, { model: 'm', max_tokens: 500, stream: true, tools, messages })
  const isLike = client === upstream
  const pair = isLike ? passthrough(ask, PROTOCOLS[client]) : translate(ask, PROTOCOLS[client], PROTOCOLS[upstream])
  const sent: JsonBody = JSON.parse(pair.request(targetFor(upstream)).body)
  const given: string[] = sent.tools.map((tool: JsonBody) => tool.name ?? tool.function.name)
  return { pair, names: new Map(given.map((name, place) => [name, TOOLS[place] ?? ''])) }
}

export const someView = (random: Random): View => ({
  id: '0123456789abcdef0123456789abcdef',
  model: 'acme/swift-2',
  createdSeconds: 1_760_000_001,
  includeUsage: random.chance(0.5),
  showThinking: random.chance(0.7),
  promptEstimate: 17,
  textTools: new Set(),
  legacyCalls: false,
  wantsJson: false,
  choices: 1,
})

interface Played {
  readonly output: string
  readonly failure: GatewayError | undefined
}

/** Bytes of an upstream through an answer, to its bill. */
export function play(answer: AnswerStream, chunks: readonly Uint8Array[]): Played {
  const reader = new SseReader()
  let output = ''
  const pushAll = (frames: ReturnType<SseReader['push']>) => {
    for (const frame of frames) if (!answer.done) output += answer.push(frame)
  }
  try {
    for (const chunk of chunks) pushAll(reader.push(chunk))
    pushAll(reader.end())
    output += answer.end()
  } catch (failure) {
    if (!(failure instanceof GatewayError)) throw failure
    return { output, failure }
  }
  const usage = answer.seen.usage ?? NO_USAGE
  return { output: output + answer.close({ usage, cost: COST }), failure: undefined }
}
