import { nanos } from '../core/money.ts'
import type { Account, Entry, EntryKind, Key } from '../core/ports.ts'

/** Rows as the embedded database returns them (64-bit integers are bigints), and what they mean. */

export interface AccountRow {
  readonly id: string
  readonly name: string
  readonly grp: string
  readonly balance: bigint
  readonly held: bigint
  readonly spent: bigint
  readonly created_at: bigint
}

export const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  group: row.grp,
  balance: nanos(row.balance),
  held: nanos(row.held),
  spent: nanos(row.spent),
  createdAt: Number(row.created_at),
})

export interface KeyRow {
  readonly id: string
  readonly account_id: string
  readonly name: string
  readonly hint: string
  readonly cap: bigint | null
  readonly spent: bigint
  readonly held: bigint
  readonly models: string | null
  readonly expires_at: bigint | null
  readonly enabled: bigint
  readonly created_at: bigint
  readonly last_used_at: bigint | null
}

export const toKey = (row: KeyRow): Key => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  hint: row.hint,
  cap: row.cap === null ? undefined : nanos(row.cap),
  spent: nanos(row.spent),
  held: nanos(row.held),
  models: row.models === null ? undefined : (JSON.parse(row.models) as string[]),
  expiresAt: row.expires_at === null ? undefined : Number(row.expires_at),
  enabled: row.enabled === 1n,
  createdAt: Number(row.created_at),
  lastUsedAt: row.last_used_at === null ? undefined : Number(row.last_used_at),
})

export interface EntryRow {
  readonly id: bigint
  readonly account_id: string
  readonly kind: string
  readonly amount: bigint
  readonly balance: bigint
  readonly source: string
  readonly key_id: string | null
  readonly note: string | null
  readonly at: bigint
}

export const toEntry = (row: EntryRow): Entry => ({
  id: Number(row.id),
  accountId: row.account_id,
  kind: row.kind as EntryKind,
  amount: nanos(row.amount),
  balance: nanos(row.balance),
  source: row.source,
  keyId: row.key_id ?? undefined,
  note: row.note ?? undefined,
  at: Number(row.at),
})
