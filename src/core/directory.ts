import type { Nanos } from './money.ts'

/** Who has money and who may spend it: accounts and keys, as the rest of the house sees them. */

/** More than a gateway takes at once, or in a minute: a limit of a key beyond it limits nothing. */
export const CONCURRENT_MAX = 10_000
export const PER_MINUTE_MAX = 1_000_000

export interface Account {
  readonly id: string
  readonly name: string
  readonly group: string
  readonly balance: Nanos
  readonly held: Nanos
  readonly spent: Nanos
  readonly createdAt: number
}

export interface Key {
  readonly id: string
  readonly accountId: string
  readonly accountName: string
  readonly name: string
  /** Enough of the secret to recognise it, never enough to use it. */
  readonly hint: string
  readonly cap: Nanos | undefined
  readonly spent: Nanos
  readonly held: Nanos
  readonly models: readonly string[] | undefined
  readonly expiresAt: number | undefined
  readonly enabled: boolean
  /** Prompts and answers are stored for so long; undefined: not at all. */
  readonly keepDays: number | undefined
  /** Requests under way at once, and in any minute; undefined: as many as come. */
  readonly maxConcurrent: number | undefined
  readonly maxPerMinute: number | undefined
  readonly createdAt: number
  readonly lastUsedAt: number | undefined
}

/** What authentication yields: who calls, and what the key may do. */
export interface Caller {
  readonly keyId: string
  readonly accountId: string
  readonly group: string
  readonly models: readonly string[] | undefined
  /** The key is an admin's own: its answers may say which channel they came from. */
  readonly isAdmins: boolean
  readonly keepDays: number | undefined
  readonly maxConcurrent: number | undefined
  readonly maxPerMinute: number | undefined
}

export interface KeyDirectory {
  /** Undefined for a key that is unknown, revoked, disabled or expired: one and the same answer. */
  authenticate(secretHash: string, now: number): Promise<Caller | undefined>
}

export type NewAccount = Pick<Account, 'id' | 'name' | 'group' | 'createdAt'>

/** `playground` keys live for an hour and are not listed. */
export type KeyKind = 'api' | 'playground'

export interface NewKey {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly secretHash: string
  readonly hint: string
  readonly cap: Nanos | undefined
  readonly models: readonly string[] | undefined
  readonly expiresAt: number | undefined
  readonly maxConcurrent?: number | undefined
  readonly maxPerMinute?: number | undefined
  readonly createdAt: number
  /** `api` where nothing is said. */
  readonly kind?: KeyKind
  readonly isAdmins?: boolean
}

/** Absent members stay as they are; undefined values clear what may be absent. */
export type KeyChanges = Partial<
  Pick<Key, 'name' | 'cap' | 'models' | 'expiresAt' | 'enabled' | 'keepDays' | 'maxConcurrent' | 'maxPerMinute'>
>

export interface Page<T> {
  readonly rows: readonly T[]
  readonly next: string | undefined
}

export interface PageRequest {
  readonly cursor: string | undefined
  readonly limit: number
}

export interface Directory extends KeyDirectory {
  /** With its first key, if one is given, or not at all. Undefined if the name is taken. */
  createAccount(account: NewAccount, firstKey?: NewKey): Promise<Account | undefined>
  /** By id, or by name. */
  account(idOrName: string): Promise<Account | undefined>
  accounts(page: PageRequest): Promise<Page<Account>>

  createKey(key: NewKey): Promise<Key>
  /** Of all kinds that were not revoked. */
  keyCount(accountId: string): Promise<number>
  key(id: string): Promise<Key | undefined>
  /** Of all keys there ever were, revoked ones too. */
  keyNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  keys(filter: { readonly accountId?: string } & PageRequest): Promise<Page<Key>>
  changeKey(id: string, changes: KeyChanges): Promise<Key | undefined>
  /** False for a key that is not there; its history stays. */
  revokeKey(id: string, now: number): Promise<boolean>
  /** Revokes all playground keys of an account but the newest so many. */
  keepPlaygroundKeys(accountId: string, count: number, now: number): Promise<void>
  /** Keys were changed by somebody else: whoever calls next is read again. */
  forgetCallers(): void
  /** Keeps when keys were last used: noted in memory with each request, written for all of them together. */
  keepLastUsed(): Promise<void>
}
