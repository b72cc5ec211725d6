import type { ProtocolName } from '../core/ask.ts'
import type { Directory } from '../core/directory.ts'
import type { UsageFilter } from '../core/records.ts'
import { accountFor } from './accounts.ts'
import { unprocessable } from './failure.ts'
import { readTime } from './input.ts'
import { type Actor, confinedTo } from './route.ts'
import { maySeeChannels } from './usage-view.ts'

export const FILTERED = {
  account: 'Of this account only.',
  key: 'Of this key only.',
  model: 'Of this model only.',
  status: '`ok`, the code of a failure, or `error` for all failures.',
  protocol: 'The protocol that the caller spoke: `chat` or `messages`.',
  channel: 'Answered by this channel; for admins.',
  from: 'Started at this time or later.',
  to: 'Started before this time.',
}

export interface FilterDeps {
  readonly actor: Actor
  readonly directory: Directory
}

/** Of what is asked for by names that are not known, a part would be answered as if it were the whole. */
export async function readFilter(
  query: URLSearchParams,
  others: readonly string[],
  { actor, directory }: FilterDeps,
): Promise<UsageFilter> {
  const known = Object.keys(FILTERED).filter(name => name !== 'channel' || maySeeChannels(actor))
  refuseUnknown(query, [...known, ...others])
  const account = query.get('account') || confinedTo(actor)
  const given = {
    accountId: account === undefined ? undefined : (await accountFor(actor, account, directory)).id,
    keyId: query.get('key') || undefined,
    model: query.get('model') || undefined,
    status: query.get('status') || undefined,
    protocol: readProtocol(query.get('protocol')),
    channel: query.get('channel') || undefined,
    from: readTime(query, 'from'),
    to: readTime(query, 'to'),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

export function refuseUnknown(query: URLSearchParams, known: readonly string[]): void {
  const unknown = [...query.keys()].find(name => !known.includes(name))
  if (unknown === undefined) return
  throw unprocessable(`${unknown}: is not one of ${known.join(', ')}`, unknown)
}

function readProtocol(text: string | null): ProtocolName | undefined {
  if (text === null || text === '') return undefined
  if (text === 'chat' || text === 'messages') return text
  throw unprocessable('protocol: must be chat or messages', 'protocol')
}
