import type { Directory, Key, KeyChanges } from '../core/directory.ts'
import { newApiKey } from '../core/ids.ts'
import { newKey } from '../core/key.ts'
import { atLeastZero, formatDollars, nanos } from '../core/money.ts'
import { findAccount } from './accounts.ts'
import type { KeyView, List, NewKeyView } from './contract.ts'
import { notFound, unprocessable } from './failure.ts'
import { KEY_CHANGES, NEW_KEY, read, readPage } from './input.ts'

export interface KeysDeps {
  readonly directory: Directory
  readonly clock: () => number
}

export async function createKey(body: unknown, { directory, clock }: KeysDeps): Promise<NewKeyView> {
  const { account: accountId, name, cap, models, expires_at } = read(NEW_KEY, body)
  const account = await directory.account(accountId)
  if (!account) throw unprocessable(`account: there is no account ${accountId}`, 'account')
  const secret = newApiKey()
  const key = await directory.createKey({
    ...newKey(secret, { accountId: account.id, name, createdAt: clock() }),
    cap: cap ?? undefined,
    models: models ?? undefined,
    expiresAt: expires_at ?? undefined,
  })
  return { ...viewKey(key), key: secret }
}

export async function listKeys(query: URLSearchParams, { directory }: KeysDeps): Promise<List<KeyView>> {
  const wanted = query.get('account')
  const filter = wanted ? { accountId: (await findAccount(wanted, directory)).id } : {}
  const { rows, next } = await directory.keys({ ...filter, ...readPage(query) })
  return { data: rows.map(viewKey), next: next ?? null }
}

export async function showKey(id: string, { directory }: KeysDeps): Promise<KeyView> {
  const key = await directory.key(id)
  if (!key) throw notFound(`key ${id}`)
  return viewKey(key)
}

export async function changeKey(id: string, body: unknown, { directory }: KeysDeps): Promise<KeyView> {
  const { expires_at: expiresAt, ...rest } = read(KEY_CHANGES, body)
  const given = { ...rest, ...(expiresAt === undefined ? {} : { expiresAt }) }
  // A null in the request clears a limit; a member that is absent leaves it alone.
  const changes = Object.fromEntries(Object.entries(given).map(([field, value]) => [field, value ?? undefined]))
  const key = await directory.changeKey(id, changes as KeyChanges)
  if (!key) throw notFound(`key ${id}`)
  return viewKey(key)
}

export async function revokeKey(id: string, { directory, clock }: KeysDeps): Promise<void> {
  if (!(await directory.revokeKey(id, clock()))) throw notFound(`key ${id}`)
}

const viewKey = (key: Key): KeyView => ({
  id: key.id,
  account: key.accountId,
  name: key.name,
  hint: key.hint,
  cap: key.cap === undefined ? null : formatDollars(key.cap),
  spent: formatDollars(key.spent),
  remaining: key.cap === undefined ? null : formatDollars(atLeastZero(nanos(key.cap - key.spent))),
  models: key.models ?? null,
  expires_at: key.expiresAt === undefined ? null : new Date(key.expiresAt).toISOString(),
  enabled: key.enabled,
  created_at: new Date(key.createdAt).toISOString(),
  last_used_at: key.lastUsedAt === undefined ? null : new Date(key.lastUsedAt).toISOString(),
})
