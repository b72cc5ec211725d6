import type { Directory } from '../core/directory.ts'
import type { UsageRow } from '../core/ledger.ts'
import { formatDollars } from '../core/money.ts'
import type { UsageView } from './contract.ts'
import { attemptsOf, viewTokens } from './receipt.ts'
import type { Actor } from './route.ts'

/** Records as this actor may see them, with the names of their keys. */
export async function viewUsages(
  rows: readonly UsageRow[],
  { actor, directory }: { readonly actor: Actor; readonly directory: Directory },
): Promise<UsageView[]> {
  const names = await directory.keyNames(rows.map(({ keyId }) => keyId))
  return rows.map(row => viewUsage(row, names.get(row.keyId) ?? '', actor))
}

const viewUsage = (row: UsageRow, keyName: string, actor: Actor): UsageView => ({
  request_id: row.requestId,
  account: row.accountId,
  key: row.keyId,
  key_name: keyName,
  model: row.call.model,
  channel: maySeeChannels(actor) ? row.call.channel : '',
  protocol: row.call.protocol,
  upstream_protocol: row.call.upstreamProtocol,
  stream: row.call.stream,
  status: row.status,
  ending: row.ending ?? null,
  tokens: viewTokens(row.usage),
  source: row.source,
  cost: formatDollars(row.cost),
  started_at: isoTime(row.startedAt),
  first_byte_ms: row.firstByteMs ?? null,
  duration_ms: row.durationMs,
  attempts: attemptsOf(row).length,
})

/** Whose upstreams they are is the operator's business. */
export const maySeeChannels = ({ role }: Actor): boolean => role === 'admin'

export const isoTime = (at: number): string => new Date(at).toISOString()
