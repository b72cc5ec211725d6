import type { Abort } from '../core/abort.ts'
import type { Ask } from '../core/ask.ts'
import type { Channel, Model, ServedModel, UsableKey } from '../core/catalog.ts'
import type { Failure } from '../core/failure.ts'
import type { Target } from '../protocol/protocol.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import { callUpstream, type UpstreamReply, type UpstreamRequest } from '../upstream/client.ts'
import type { Pair } from './pair.ts'
import { passthrough } from './passthrough.ts'
import { translate } from './translate.ts'

/** How a caller's dialect and a channel's go together. */
export function pairFor(ask: Ask, model: Model, channel: Channel): Pair {
  const client = PROTOCOLS[ask.protocol]
  return isPassedOn(ask, model, channel)
    ? passthrough(ask, client)
    : translate(ask, client, PROTOCOLS[channel.protocol])
}

/** Whether the upstream is sent the caller's own text, with named edits. */
export function isPassedOn(ask: Ask, model: Model, channel: Channel): boolean {
  const client = PROTOCOLS[ask.protocol]
  return ask.protocol === channel.protocol && client.canPassOn(ask, servedBy(channel, model).capabilities)
}

export function targetOf(model: Model, channel: Channel, maxTokens: number | undefined): Target {
  const { name, capabilities } = servedBy(channel, model)
  const { maxOutputTokens, reasoning } = model
  return { model: name, maxTokens, maxOutputTokens, reasoning, capabilities, withheld: channel.withheld }
}

/** The model as this channel has it; a channel without it is never chosen for it. */
export function servedBy(channel: Channel, { id }: Model): ServedModel {
  const served = channel.models.get(id)
  if (!served) throw new Error(`channel ${channel.name} does not serve ${id}`)
  return served
}

export interface ChannelCall {
  readonly channel: Channel
  /** Undefined for an upstream that wants none. */
  readonly key: UsableKey | undefined
  readonly ask: Ask
  /** The caller's; those that belong to the dialect go on to a like upstream. */
  readonly headers: Headers
  readonly body: UpstreamRequest['body']
  readonly abort: Abort
}

export function callChannel({ channel, key, ask, headers, body, abort }: ChannelCall): Promise<UpstreamReply> {
  const protocol = PROTOCOLS[channel.protocol]
  return callUpstream({
    url: `${channel.baseUrl}${protocol.path}`,
    headers: {
      ...protocol.upstreamHeaders(key?.secret),
      ...(ask.protocol === channel.protocol ? protocol.forwardedHeaders(headers) : {}),
    },
    body,
    timeouts: channel.timeouts,
    abort,
  })
}

/** A vendor's complaint may quote the name it knows the model by, or our credential. */
export function concealer(model: Model, channel: Channel): (failure: Failure) => Failure {
  const { name: known } = servedBy(channel, model)
  const conceal = (text: string) =>
    channel.keys
      .reduce((clean, { secret }) => (secret === undefined ? clean : clean.replaceAll(secret, '[key]')), text)
      .replaceAll(known, model.id)
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

/** Why a connection failed, for operators: refused, no such host, a certificate. Callers are not told. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return ''
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
  return cause.message.startsWith(code) ? ` (${cause.message})` : ` (${code}: ${cause.message})`
}
