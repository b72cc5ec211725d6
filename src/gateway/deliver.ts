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
  attempt.request.settlement.present(headers)
  return wayOf(attempt)(attempt, upstream, headers)
}

type ReplyHeaders = Record<string, string>
type Way = (attempt: Attempt, upstream: UpstreamReply, headers: ReplyHeaders) => Promise<Reply>

function wayOf({ request, prepared }: Attempt): Way {
  if (prepared.ask.stream) return streamed
  return request.ceiling === undefined ? whole : folded
}

function replyHeaders({ request, route: { channel } }: Attempt, dropped: readonly string[]): ReplyHeaders {
  const headers: ReplyHeaders = { ...channel.replyHeaders }
  if (request.showsChannel) headers['x-duet-channel'] = channel.name
  if (dropped.length > 0) headers['x-duet-dropped'] = dropped.join(',')
  return headers
}

async function whole(attempt: Attempt, upstream: UpstreamReply, headers: ReplyHeaders): Promise<Reply> {
  const { settlement, meter, promptEstimate, shortage } = attempt.request
  const answer = attempt.prepared.pair.body(await upstream.text(), viewFor(attempt))
  settlement.firstByte()
  const { counted, ending } = meter.conclude(count(answer.seen, promptEstimate), endingOf(answer.seen, shortage))
  const charged = await settlement.charge(counted, { ending, write: bill => answer.render(bill) })
  return { headers: withMoney(headers, charged), body: charged.text }
}

/** An answer that reached a limit which only the money, or a ceiling, had set ended for want of that. */
function endingOf({ reason }: Seen, shortage: Limits['shortage']): Ending | undefined {
  return reason === 'length' ? (shortage ?? reason) : reason
}

function withMoney(headers: ReplyHeaders, { bill, balance, keyRemaining }: Charged): ReplyHeaders {
  const told: ReplyHeaders = { ...headers, 'x-duet-cost': bill.cost, 'x-duet-balance': formatDollars(balance) }
  if (keyRemaining !== undefined) told['x-duet-key-remaining'] = formatDollars(keyRemaining)
  return told
}

/** A whole answer with a ceiling: what makes it is stopped there, if need be. */
async function folded(attempt: Attempt, upstream: UpstreamReply, headers: ReplyHeaders): Promise<Reply> {
  const { ask, pair } = attempt.prepared
  if (!(await upstream.isStream())) return whole(attempt, upstream, headers)
  const stream = pair.stream({ ...viewFor(attempt), includeUsage: true })
  const answer = new FoldedStream(stream, PROTOCOLS[ask.protocol].foldStream())
  const charged = await watch(attempt, upstream, answer).whole()
  return { headers: withMoney(headers, charged), body: charged.text }
}

async function streamed(attempt: Attempt, upstream: UpstreamReply, headers: ReplyHeaders): Promise<Reply> {
  const { settlement } = attempt.request
  const { pair } = attempt.prepared
  const view = viewFor(attempt)
  const answer = (await upstream.isStream()) ? pair.stream(view) : pair.bodyAsStream(await upstream.text(), view)
  return { headers, body: await watch(attempt, upstream, answer).open(), ended: settlement.ended }
}

function watch({ request, prepared, route, abort }: Attempt, upstream: UpstreamReply, answer: AnswerStream) {
  const { call, model, settlement, meter, promptEstimate, shortage } = request
  return new WatchedStream({
    upstream,
    answer,
    settlement,
    meter,
    protocol: PROTOCOLS[prepared.ask.protocol],
    requestId: call.requestId,
    promptEstimate,
    cut: abort,
    conceal: concealer(model, route.channel),
    endingOf: seen => endingOf(seen, shortage),
  })
}

const viewFor = ({ request: { model, call, promptEstimate }, prepared }: Attempt): View =>
  viewOf(prepared.ask, { model, startedAt: call.startedAt, promptEstimate })
