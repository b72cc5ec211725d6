import { Abort } from '../core/abort.ts'
import type { JsonObject, ProtocolName } from '../core/ask.ts'
import type { Channel, Model, UsableKey } from '../core/catalog.ts'
import type { Failure } from '../core/failure.ts'
import type { Probe } from '../core/probe.ts'
import { NO_USAGE } from '../core/usage.ts'
import { asAnswerFailure, flatText } from '../protocol/answer.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import type { Route } from '../routing/choose.ts'
import { callChannel, concealer, pairFor, reasonOf, targetOf } from './channel.ts'
import { viewOf } from './view.ts'

const CLIENTS: readonly ProtocolName[] = ['chat', 'messages']
/** Enough for a word, little enough to cost next to nothing. */
const PROBE_TOKENS = 16

/** Calls a channel once for each protocol, outside all accounts: the operator wants to see whether it answers, and how. */
export const probeChannel = (channel: Channel, model: Model, deps: ProbeDeps): Promise<Probe[]> =>
  Promise.all(CLIENTS.map(client => probe(client, { channel, model, ...deps })))

interface ProbeDeps {
  readonly clock: () => number
  /** Whether callers' requests are kept from it for a while. */
  readonly isLeftAlone: (channel: string, keyId: string) => boolean
  /** What answers an operator may be asked by callers again. */
  readonly answered: (route: Route) => void
}

interface ProbeParts extends ProbeDeps {
  readonly channel: Channel
  readonly model: Model
}

async function probe(
  client: ProtocolName,
  { channel, model, clock, answered, isLeftAlone }: ProbeParts,
): Promise<Probe> {
  const text = JSON.stringify({
    model: model.id,
    max_tokens: PROBE_TOKENS,
    messages: [{ role: 'user', content: 'Say OK.' }],
  })
  const ask = PROTOCOLS[client].read(JSON.parse(text), text)
  const pair = pairFor(ask, model, channel)
  const { body } = pair.request(targetOf(model, channel, PROBE_TOKENS))
  const key = keyToTest(channel, isLeftAlone)
  const startedAt = clock()
  const done = (outcome: Pick<Probe, 'answer' | 'failure'>): Probe => ({
    ...{ client, upstream: channel.protocol, model: model.id, keyId: key?.id, durationMs: clock() - startedAt },
    request: JSON.parse(body),
    ...outcome,
  })
  try {
    const reply = await callChannel({ channel, key, ask, body, headers: new Headers(), abort: new Abort() })
    const answer = pair.body(await reply.text(), viewOf(ask, { model, startedAt, promptEstimate: 0 }))
    const said = textOf(JSON.parse(answer.render({ usage: NO_USAGE, cost: '' })))
    answered({ channel, key })
    return done({ answer: said, failure: undefined })
  } catch (error) {
    const { failure, cause } = asAnswerFailure(error)
    return done({ answer: undefined, failure: withReason(concealer(model, channel)(failure), cause) })
  }
}

/** Only the operator sees it. */
const withReason = (failure: Failure, cause: unknown): Failure =>
  failure.kind === 'upstream-error' ? { ...failure, problem: `${failure.problem}${reasonOf(cause)}` } : failure

/** The one in doubt, if there is one. What is paused may be tested, too, before it serves again. */
function keyToTest({ name, keys, usableKeys }: Channel, isLeftAlone: ProbeDeps['isLeftAlone']): UsableKey | undefined {
  const all = keys.flatMap(({ id, secret }) => (secret === undefined ? [] : [{ id, secret }]))
  return usableKeys.find(({ id }) => isLeftAlone(name, id)) ?? usableKeys[0] ?? all[0]
}

/** The text of an answer of either dialect. */
const textOf = (body: JsonObject & { choices?: [{ message: JsonObject }]; content?: unknown }): string =>
  flatText(body.content ?? body.choices?.[0].message.content)
