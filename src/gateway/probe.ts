import type { JsonObject, ProtocolName } from '../core/ask.ts'
import type { Channel, Model, UsableKey } from '../core/catalog.ts'
import type { Failure } from '../core/failure.ts'
import type { Probe } from '../core/probe.ts'
import { NO_USAGE } from '../core/usage.ts'
import { asAnswerFailure, flatText } from '../protocol/answer.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import { callChannel, concealer, pairFor, pickKey, reasonOf, targetOf } from './channel.ts'
import { viewOf } from './view.ts'

const CLIENTS: readonly ProtocolName[] = ['chat', 'messages']
/** Enough for a word, little enough to cost next to nothing. */
const PROBE_TOKENS = 16

/** Calls a channel once for each protocol, outside all accounts: the operator wants to see whether it answers, and how. */
export const probeChannel = (channel: Channel, model: Model, clock: () => number): Promise<Probe[]> =>
  Promise.all(CLIENTS.map(client => probe(client, { channel, model, clock })))

interface ProbeParts {
  readonly channel: Channel
  readonly model: Model
  readonly clock: () => number
}

async function probe(client: ProtocolName, { channel, model, clock }: ProbeParts): Promise<Probe> {
  const text = JSON.stringify({
    model: model.id,
    max_tokens: PROBE_TOKENS,
    messages: [{ role: 'user', content: 'Say OK.' }],
  })
  const ask = PROTOCOLS[client].read(JSON.parse(text), text)
  const pair = pairFor(ask, model, channel)
  const { body } = pair.request(targetOf(model, channel, PROBE_TOKENS))
  const startedAt = clock()
  const done = (outcome: Pick<Probe, 'answer' | 'failure'>): Probe => ({
    ...{ client, upstream: channel.protocol, model: model.id, durationMs: clock() - startedAt },
    request: JSON.parse(body),
    ...outcome,
  })
  try {
    const key = pickKey(channel) ?? pausedKey(channel)
    const reply = await callChannel({ channel, key, ask, body, headers: new Headers(), abort: new AbortController() })
    const answer = pair.body(await reply.text(), viewOf(ask, { model, startedAt, promptEstimate: 0 }))
    const said = textOf(JSON.parse(answer.render({ usage: NO_USAGE, cost: '' })))
    return done({ answer: said, failure: undefined })
  } catch (error) {
    const { failure, cause } = asAnswerFailure(error)
    return done({ answer: undefined, failure: withReason(concealer(model, channel)(failure), cause) })
  }
}

/** Only the operator sees it. */
const withReason = (failure: Failure, cause: unknown): Failure =>
  failure.kind === 'upstream-error' ? { ...failure, problem: `${failure.problem}${reasonOf(cause)}` } : failure

/** What is paused may be tested before it serves again. */
function pausedKey({ keys }: Channel): UsableKey | undefined {
  const [key] = keys.flatMap(({ id, secret }) => (secret === undefined ? [] : [{ id, secret }]))
  return key
}

/** The text of an answer of either dialect. */
const textOf = (body: JsonObject & { choices?: [{ message: JsonObject }]; content?: unknown }): string =>
  flatText(body.content ?? body.choices?.[0].message.content)
