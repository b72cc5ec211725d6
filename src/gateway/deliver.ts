import type { Ending } from '../core/ledger.ts'
import { formatDollars } from '../core/money.ts'
import type { Seen } from '../core/seen.ts'
import { count } from '../metering/count.ts'
import type { AnswerStream, View } from '../protocol/protocol.ts'
import { PROTOCOLS } from '../protocol/protocols.ts'
import type { UpstreamReply } from '../upstream/client.ts'
import { concealer } from './channel.ts'
import { FoldedStream } from './fold.ts'
import type { Attempt } from './relay.ts'
import type { Limits } from './reserve.ts'
import type { Reply } from './serve.ts'
import type { Charged } from './settlement.ts'
import { viewOf } from './view.ts'
import { WatchedStream } from './watch.ts'

/** Makes the caller's answer of an upstream's: whole, as a stream, or as a stream that is stopped in time and folded. */
export function deliver(attempt: Attempt, upstream: UpstreamReply, dropped: readonly string[]): Promise<Reply> {
  const headers = replyHeaders(attempt, dropped)
  attempt.settlement.present(headers)
  return wayOf(attempt)(attempt, upstream, headers)
}

type Way = (attempt: Attempt, upstream: UpstreamReply, headers: Record<string, string>) => Promise<Reply>

function wayOf({ ask, ceiling }: Attempt): Way {
  if (ask.stream) return streamed
  return ceiling === undefined ? whole : folded
}

function replyHeaders({ channel, showsChannel }: Attempt, dropped: readonly string[]): Record<string, string> {
  return {
    ...channel.replyHeaders,
    ...(showsChannel ? { 'x-duet-channel': channel.name } : {}),
    ...(dropped.length > 0 ? { 'x-duet-dropped': dropped.join(',') } : {}),
  }
}

async function whole(attempt: Attempt, upstream: UpstreamReply, headers: Record<string, string>): Promise<Reply> {
  const { pair, settlement, meter, promptEstimate } = attempt
  const answer = pair.body(await upstream.text(), viewFor(attempt))
  settlement.firstByte()
  const { counted, ending } = meter.conclude(count(answer.seen, promptEstimate), endingOf(answer.seen, attempt))
  const charged = await settlement.charge(counted, { ending, write: bill => answer.render(bill) })
  return { headers: { ...headers, ...moneyHeaders(charged) }, body: charged.text }
}

/** An answer that reached a limit which only the money, or a ceiling, had set ended for want of that. */
function endingOf({ reason }: Seen, { shortage }: Pick<Limits, 'shortage'>): Ending | undefined {
  return reason === 'length' ? (shortage ?? reason) : reason
}

function moneyHeaders({ bill, balance, keyRemaining }: Charged): Record<string, string> {
  return {
    'x-duet-cost': bill.cost,
    'x-duet-balance': formatDollars(balance),
    ...(keyRemaining === undefined ? {} : { 'x-duet-key-remaining': formatDollars(keyRemaining) }),
  }
}

/** A whole answer with a ceiling: what makes it is stopped there, if need be. */
async function folded(attempt: Attempt, upstream: UpstreamReply, headers: Record<string, string>): Promise<Reply> {
  const { ask, pair } = attempt
  if (!(await upstream.isStream())) return whole(attempt, upstream, headers)
  const stream = pair.stream({ ...viewFor(attempt), includeUsage: true })
  const answer = new FoldedStream(stream, PROTOCOLS[ask.protocol].foldStream())
  const charged = await watch(attempt, upstream, answer).whole()
  return { headers: { ...headers, ...moneyHeaders(charged) }, body: charged.text }
}

async function streamed(attempt: Attempt, upstream: UpstreamReply, headers: Record<string, string>): Promise<Reply> {
  const { pair, settlement } = attempt
  const view = viewFor(attempt)
  const answer = (await upstream.isStream()) ? pair.stream(view) : pair.bodyAsStream(await upstream.text(), view)
  return { headers, body: await watch(attempt, upstream, answer).open(), ended: settlement.ended }
}

function watch(attempt: Attempt, upstream: UpstreamReply, answer: AnswerStream): WatchedStream {
  const { call, ask, settlement, meter, abort, promptEstimate } = attempt
  return new WatchedStream({
    upstream,
    answer,
    settlement,
    meter,
    protocol: PROTOCOLS[ask.protocol],
    requestId: call.requestId,
    promptEstimate,
    cut: abort.signal,
    conceal: concealer(attempt.model, attempt.channel),
    endingOf: seen => endingOf(seen, attempt),
  })
}

const viewFor = ({ ask, model, call: { startedAt }, promptEstimate }: Attempt): View =>
  viewOf(ask, { model, startedAt, promptEstimate })
