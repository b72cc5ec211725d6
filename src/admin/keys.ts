import type { Captures } from '../core/captures.ts'
import type { Directory, Key, KeyChanges } from '../core/directory.ts'
import { newApiKey } from '../core/ids.ts'
import { newKey } from '../core/key.ts'
import { atLeastZero, formatDollars, nanos } from '../core/money.ts'
import { accountFor } from './accounts.ts'
import { chosenAccount } from './chosen-account.ts'
import { list } from './contract/common.ts'
import { KeyView, NewKeyView } from './contract.ts'
import { AdminError, notFound } from './failure.ts'
import { KEY_CHANGES, NEW_KEY, read, readPage } from './input.ts'
import { type Actor, confinedTo, created, done, maySee, ok, PAGED, type Routes, refuseMembers } from './route.ts'

export interface KeysDeps {
  readonly directory: Directory
  readonly captures: Captures
  readonly clock: () => number
}

/** Of one account: far more than people look after, and a bound on what its members can fill the store with. */
const KEYS_MAX = 1_000

async function createKey(body: unknown, actor: Actor, { directory, clock }: KeysDeps): Promise<NewKeyView> {
  const { account: wanted, name, cap, models, expires_at, max_concurrent, max_per_minute } = read(NEW_KEY, body)
  const account = await chosenAccount(wanted, actor, directory)
  if ((await directory.keyCount(account.id)) >= KEYS_MAX) {
    throw new AdminError(409, 'too_many_keys', `an account has at most ${KEYS_MAX} keys; revoke some first`)
  }
  const secret = newApiKey()
  const key = await directory.createKey({
    ...newKey(secret, { accountId: account.id, name, createdAt: clock() }),
    cap: cap ?? undefined,
    models: models ?? undefined,
    expiresAt: expires_at ?? undefined,
    maxConcurrent: max_concurrent ?? undefined,
    maxPerMinute: max_per_minute ?? undefined,
    // What an admin makes for their own account is an admin's key; what they make for others is not.
    isAdmins: actor.role === 'admin' && actor.user?.accountId === account.id,
  })
  return { ...viewKey(key, clock()), key: secret }
}

async function listKeys(query: URLSearchParams, actor: Actor, { directory, clock }: KeysDeps) {
  const wanted = query.get('account') || confinedTo(actor)
  const filter = wanted === undefined ? {} : { accountId: (await accountFor(actor, wanted, directory)).id }
  const { rows, next } = await directory.keys({ ...filter, ...readPage(query) })
  const now = clock()
  return { data: rows.map(key => viewKey(key, now)), next: next ?? null }
}

/** A key of somebody else is as good as not there. */
async function keyFor(actor: Actor, id: string, { directory }: KeysDeps): Promise<Key> {
  const key = await directory.key(id)
  if (!key || !maySee(actor, key.accountId)) throw notFound(`key ${id}`)
  return key
}

async function changeKey(id: string, body: unknown, actor: Actor, deps: KeysDeps): Promise<KeyView> {
  const { expires_at: expiresAt, keep_days: keepDays, ...others } = read(KEY_CHANGES, body)
  const { max_concurrent: maxConcurrent, max_per_minute: maxPerMinute, ...rest } = others
  if (keepDays !== undefined) refuseMembers(actor, 'store prompts and answers')
  await keyFor(actor, id, deps)
  const given = Object.entries({ ...rest, expiresAt, keepDays, maxConcurrent, maxPerMinute })
  // A null in the request clears a limit; a member that is absent leaves it alone.
  const changes = Object.fromEntries(
    given.filter(([, value]) => value !== undefined).map(([field, value]) => [field, value ?? undefined]),
  )
  const key = await deps.directory.changeKey(id, changes as KeyChanges)
  if (!key) throw notFound(`key ${id}`)
  // What was stored before obeys at once: whoever switches it off wants it gone.
  if (keepDays !== undefined) await deps.captures.shorten({ keyId: id, keepDays: key.keepDays, now: deps.clock() })
  return viewKey(key, deps.clock())
}

async function revokeKey(id: string, actor: Actor, deps: KeysDeps): Promise<void> {
  await keyFor(actor, id, deps)
  if (!(await deps.directory.revokeKey(id, deps.clock()))) throw notFound(`key ${id}`)
}

/** What keeps a key from being used, if anything does. */
function statusOf(key: Key, now: number): KeyView['status'] {
  if (!key.enabled) return 'disabled'
  if (key.expiresAt !== undefined && key.expiresAt <= now) return 'expired'
  return key.cap !== undefined && key.spent >= key.cap ? 'cap-reached' : 'active'
}

const viewKey = (key: Key, now: number): KeyView => ({
  id: key.id,
  account: key.accountId,
  account_name: key.accountName,
  name: key.name,
  hint: key.hint,
  cap: key.cap === undefined ? null : formatDollars(key.cap),
  spent: formatDollars(key.spent),
  held: formatDollars(key.held),
  remaining: key.cap === undefined ? null : formatDollars(atLeastZero(nanos(key.cap - key.spent))),
  models: key.models ?? null,
  expires_at: key.expiresAt === undefined ? null : new Date(key.expiresAt).toISOString(),
  enabled: key.enabled,
  status: statusOf(key, now),
  keep_days: key.keepDays ?? null,
  max_concurrent: key.maxConcurrent ?? null,
  max_per_minute: key.maxPerMinute ?? null,
  created_at: new Date(key.createdAt).toISOString(),
  last_used_at: key.lastUsedAt === undefined ? null : new Date(key.lastUsedAt).toISOString(),
})

export const keyRoutes: Routes<KeysDeps> = {
  'POST /keys': {
    access: 'member',
    summary: 'Make a key; the answer is the only one that has its secret',
    body: NEW_KEY,
    answers: { 201: NewKeyView },
    errors: [409],
    handle: async ({ json, actor, deps }) => created(await createKey(await json(), actor, deps)),
  },
  'GET /keys': {
    access: 'member',
    summary: 'List keys with what they spent and may spend',
    query: { account: 'Of this account only.', ...PAGED },
    answers: { 200: list(KeyView) },
    handle: async ({ call, actor, deps }) => ok(await listKeys(call.query, actor, deps)),
  },
  'GET /keys/*': {
    access: 'member',
    summary: 'Show a key',
    answers: { 200: KeyView },
    handle: async ({ ids: [id = ''], actor, deps }) => ok(viewKey(await keyFor(actor, id, deps), deps.clock())),
  },
  'PATCH /keys/*': {
    access: 'member',
    summary: 'Change a key, effective at once; null removes a limit, such as the cap',
    body: KEY_CHANGES,
    answers: { 200: KeyView },
    handle: async ({ ids: [id = ''], json, actor, deps }) => ok(await changeKey(id, await json(), actor, deps)),
  },
  'DELETE /keys/*': {
    access: 'member',
    summary: 'Revoke a key at once; its history stays',
    answers: { 204: null },
    handle: async ({ ids: [id = ''], actor, deps }) => {
      await revokeKey(id, actor, deps)
      return done
    },
  },
  'DELETE /keys/*/captures': {
    access: 'admin',
    summary: 'Forget the prompts and answers that were stored for a key, revoked or not',
    answers: { 204: null },
    handle: async ({ ids: [keyId = ''], deps }) => {
      await deps.captures.shorten({ keyId, keepDays: undefined, now: deps.clock() })
      return done
    },
  },
}
