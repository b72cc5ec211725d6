import type { Ask } from '../core/ask.ts'
import type { Channel, Model } from '../core/catalog.ts'
import type { Failure } from '../core/failure.ts'
import type { Target } from '../protocol/protocol.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import { callUpstream, type UpstreamReply } from '../upstream/client.ts'
import type { Pair } from './pair.ts'
import { passthrough } from './passthrough.ts'
import { translate } from './translate.ts'

/** How a caller's dialect and a channel's go together. */
export function pairFor(ask: Ask, channel: Channel): Pair {
  const client = PROTOCOLS[ask.protocol]
  const upstream = PROTOCOLS[channel.protocol]
  return client === upstream ? passthrough(ask, client) : translate(ask, client, upstream)
}

export const targetOf = (model: Model, channel: Channel, maxTokens: number | undefined): Target => ({
  model: vendorName(model, channel),
  maxTokens,
  maxTokensField: channel.maxTokensField,
  maxOutputTokens: model.maxOutputTokens,
  reasoning: model.reasoning,
  withheld: channel.withheld,
})

export interface ChannelCall {
  readonly channel: Channel
  readonly ask: Ask
  /** The caller's; those that belong to the dialect go on to a like upstream. */
  readonly headers: Headers
  readonly body: string
  readonly abort: AbortController
}

export async function callChannel({ channel, ask, headers, body, abort }: ChannelCall): Promise<UpstreamReply> {
  const protocol = PROTOCOLS[channel.protocol]
  return callUpstream({
    url: `${channel.baseUrl}${protocol.path}`,
    headers: {
      ...protocol.upstreamHeaders(anyOf(channel.apiKeys)),
      ...(ask.protocol === channel.protocol ? protocol.forwardedHeaders(headers) : {}),
    },
    body,
    timeouts: channel.timeouts,
    abort,
  })
}

/** Several keys of one channel share its calls evenly. */
const anyOf = (keys: readonly string[]): string | undefined => keys[Math.floor(Math.random() * keys.length)]

/** A vendor's complaint may quote the name it knows the model by, or our credential. */
export function concealer(model: Model, channel: Channel): (failure: Failure) => Failure {
  const known = vendorName(model, channel)
  const conceal = (text: string) =>
    channel.apiKeys.reduce((clean, key) => clean.replaceAll(key, '[key]'), text).replaceAll(known, model.id)
  return failure => {
    switch (failure.kind) {
      case 'upstream-invalid-request':
        return { ...failure, message: conceal(failure.message) }
      case 'upstream-error':
        return { ...failure, problem: conceal(failure.problem) }
      default:
        return failure
    }
  }
}

const vendorName = (model: Model, channel: Channel): string => channel.models.get(model.id) ?? model.id
