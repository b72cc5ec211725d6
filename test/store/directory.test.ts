import { beforeAll, describe, expect, test } from 'bun:test'
import { asGatewayError } from '../../src/core/failure.ts'
import { dollars, nanos } from '../../src/core/money.ts'
import { deposit, keyOf, NOW, newAccount, newId, type Stores, spend, useStores } from './stage.ts'

const openStores = useStores()

let stores: Stores

beforeAll(async () => {
  stores = await openStores()
})

describe('an account', () => {
  test('is made with its first key or not at all, under a name that nobody has', async () => {
    const { directory } = stores.store
    const id = newId('acc')
    const key = keyOf(id)
    const account = { id, name: newId('team'), group: 'default', createdAt: NOW }
    expect(await directory.createAccount(account, key)).toEqual({
      ...{ ...account, balance: nanos(0n), held: nanos(0n), spent: nanos(0n) },
    })
    expect(await directory.key(key.id)).toMatchObject({ accountName: account.name })
    expect(await directory.createAccount({ ...account, id: newId('acc') })).toBeUndefined()
    const stolen = { ...account, id: newId('acc'), name: newId('team') }
    const broken = directory.createAccount(stolen, keyOf(stolen.id, { secretHash: key.secretHash }))
    expect(await broken.catch(() => 'failed')).toBe('failed')
    expect(await directory.account(stolen.id)).toBeUndefined()
  })

  test('of one name is made once when many make it at the same time', async () => {
    const name = newId('team')
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, place) => {
        const { directory } = place % 2 ? stores.store : stores.other
        const id = newId('acc')
        return directory.createAccount({ id, name, group: 'default', createdAt: NOW }, keyOf(id))
      }),
    )
    expect(made.filter(account => account !== undefined)).toHaveLength(1)
  })

  test('is found by its id, then by its name; all are listed in the order of their ids', async () => {
    const { store } = await openStores()
    const accounts = [await newAccount(store, 'b'), await newAccount(store, 'A'), await newAccount(store, 'ä')]
    const [first] = accounts
    const named = await newAccount(store, first?.id ?? '')
    expect((await store.directory.account('b'))?.id).toBe(first?.id ?? '')
    expect((await store.directory.account(first?.id ?? ''))?.name).toBe('b')
    const { rows, next } = await store.directory.accounts({ cursor: undefined, limit: 3 })
    expect(rows.map(({ name }) => name)).toEqual(['b', 'A', 'ä'])
    const { rows: last, next: none } = await store.directory.accounts({ cursor: next, limit: 3 })
    expect([last.map(({ id }) => id), none]).toEqual([[named.id], undefined])
  })
})

describe('a key', () => {
  test('lets in whoever has its secret, with what it may do', async () => {
    const { directory } = stores.store
    const account = await newAccount(stores.store)
    const limits = { maxConcurrent: 3, maxPerMinute: 60, models: ['acme/swift'], expiresAt: NOW + 10, isAdmins: true }
    const key = keyOf(account.id, limits)
    await directory.createKey(key)
    const caller = {
      ...{ keyId: key.id, accountId: account.id, group: 'default', models: ['acme/swift'], isAdmins: true },
      ...{ keepDays: undefined, maxConcurrent: 3, maxPerMinute: 60 },
    }
    expect(await directory.authenticate(key.secretHash, NOW)).toEqual(caller)
    expect(await directory.authenticate(key.secretHash, NOW)).toEqual(caller)
    expect(await directory.authenticate(key.secretHash, NOW + 10)).toBeUndefined()
    expect(await directory.authenticate('nobody', NOW)).toBeUndefined()
  })

  test('is one question when many come with it for the first time, and none after that', async () => {
    const { directory } = stores.store
    const key = keyOf((await newAccount(stores.store)).id)
    await directory.createKey(key)
    const callers = await Promise.all(Array.from({ length: 50 }, () => directory.authenticate(key.secretHash, NOW)))
    const [first] = callers
    expect(first).toBeDefined()
    for (const caller of callers) expect(caller).toBe(first as NonNullable<typeof first>)
    expect(await directory.authenticate(key.secretHash, NOW)).toBe(first as NonNullable<typeof first>)
  })

  test('that is changed lets in under its new terms at once; that is revoked, not at all', async () => {
    const { directory } = stores.store
    const key = keyOf((await newAccount(stores.store)).id)
    await directory.createKey(key)
    expect(await directory.authenticate(key.secretHash, NOW)).toMatchObject({ models: undefined })
    await directory.changeKey(key.id, { models: ['acme/steady'], keepDays: 7 })
    expect(await directory.authenticate(key.secretHash, NOW)).toMatchObject({ models: ['acme/steady'], keepDays: 7 })
    await directory.changeKey(key.id, { enabled: false })
    expect(await directory.authenticate(key.secretHash, NOW)).toBeUndefined()
    await directory.changeKey(key.id, { enabled: true })
    expect(await directory.authenticate(key.secretHash, NOW)).toBeDefined()
    expect(await directory.revokeKey(key.id, NOW)).toBe(true)
    expect(await directory.revokeKey(key.id, NOW)).toBe(false)
    expect(await directory.authenticate(key.secretHash, NOW)).toBeUndefined()
    expect(await directory.key(key.id)).toBeUndefined()
    expect(await directory.changeKey(key.id, { name: 'again' })).toBeUndefined()
    expect(await directory.keyNames([key.id, 'none', key.id])).toEqual(new Map([[key.id, key.name]]))
  })

  test('that somebody else has changed is read again by who forgets the callers it knew', async () => {
    const { store, other } = stores
    const key = keyOf((await newAccount(store)).id)
    await store.directory.createKey(key)
    expect(await store.directory.authenticate(key.secretHash, NOW)).toBeDefined()
    await other.directory.revokeKey(key.id, NOW)
    store.directory.forgetCallers()
    expect(await store.directory.authenticate(key.secretHash, NOW)).toBeUndefined()
  })

  test('is read anew where it was changed while it was being read', async () => {
    const { directory } = stores.store
    const key = keyOf((await newAccount(stores.store)).id)
    await directory.createKey(key)
    const reading = directory.authenticate(key.secretHash, NOW)
    const changing = directory.changeKey(key.id, { enabled: false })
    await Promise.all([reading, changing])
    expect(await directory.authenticate(key.secretHash, NOW)).toBeUndefined()
  })

  test('is changed in what is given and nothing else, by many at the same time', async () => {
    const { store, other } = stores
    const account = await newAccount(store)
    const key = keyOf(account.id)
    await store.directory.createKey(key)
    await Promise.all([
      store.directory.changeKey(key.id, { name: 'renamed' }),
      other.directory.changeKey(key.id, { cap: dollars(3) }),
      store.directory.changeKey(key.id, { maxPerMinute: 10, maxConcurrent: 2 }),
      other.directory.changeKey(key.id, { keepDays: 3, expiresAt: NOW + 1 }),
    ])
    const changed = { name: 'renamed', cap: dollars(3), maxPerMinute: 10, maxConcurrent: 2, keepDays: 3 }
    expect(await store.directory.key(key.id)).toMatchObject({ ...changed, expiresAt: NOW + 1 })
    expect(await store.directory.changeKey(key.id, { cap: undefined, expiresAt: undefined })).toMatchObject({
      ...{ ...changed, cap: undefined, expiresAt: undefined, accountName: account.name },
    })
    expect(await store.directory.changeKey(key.id, {})).toMatchObject({ name: 'renamed' })
  })

  test('is changed while money is spent with it, and nothing of either is lost', async () => {
    const { store, other } = stores
    const account = await newAccount(store)
    const key = keyOf(account.id)
    await store.directory.createKey(key)
    await deposit(store, account.id)
    await Promise.all([
      ...Array.from({ length: 20 }, (_, place) =>
        spend(place % 2 ? store : other, { accountId: account.id, keyId: key.id, input: 1_000 }),
      ),
      ...Array.from({ length: 20 }, (_, place) =>
        (place % 2 ? store : other).directory.changeKey(key.id, { name: `name ${place}` }),
      ),
      ...Array.from({ length: 5 }, () => store.directory.keepLastUsed()),
    ])
    expect(await store.directory.key(key.id)).toMatchObject({ spent: nanos(20_000_000n), held: nanos(0n) })
  })

  test('all of an account are listed page by page, but for those of the playground', async () => {
    const { directory } = stores.store
    const [account, neighbour] = [await newAccount(stores.store), await newAccount(stores.store)]
    const keys = Array.from({ length: 5 }, () => keyOf(account.id))
    for (const key of keys) await directory.createKey(key)
    await directory.createKey(keyOf(account.id, { kind: 'playground' }))
    await directory.createKey(keyOf(neighbour.id))
    const ids: string[] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
      const { rows, next } = await directory.keys({ accountId: account.id, cursor, limit: 2 })
      ids.push(...rows.map(({ id }) => id))
      cursor = next
    }
    expect(ids).toEqual(keys.map(({ id }) => id))
    expect(await directory.keyCount(account.id)).toBe(6)
    const { rows } = await directory.keys({ cursor: undefined, limit: 1_000 })
    expect(rows.length).toBeGreaterThanOrEqual(6)
  })

  test('of the playground stays as it is, and only the newest of them stay', async () => {
    const { directory } = stores.store
    const account = await newAccount(stores.store)
    const keys = Array.from({ length: 5 }, () => keyOf(account.id, { kind: 'playground' }))
    for (const key of keys) await directory.createKey(key)
    const [api] = [keyOf(account.id)]
    await directory.createKey(api)
    expect(await directory.changeKey(keys[4]?.id ?? '', { name: 'mine' })).toBeUndefined()
    await directory.keepPlaygroundKeys(account.id, 2, NOW)
    const found = await Promise.all([...keys, api].map(({ id }) => directory.key(id)))
    expect(found.map(key => key !== undefined)).toEqual([false, false, false, true, true, true])
  })

  test('shows when it was last used, before that is written down and after', async () => {
    const { store, other } = stores
    const account = await newAccount(store)
    const keys = Array.from({ length: 3 }, () => keyOf(account.id))
    for (const key of keys) await store.directory.createKey(key)
    const [used, later] = keys
    await store.directory.authenticate(used?.secretHash ?? '', NOW + 5)
    await other.directory.authenticate(later?.secretHash ?? '', NOW + 9)
    await store.directory.authenticate(later?.secretHash ?? '', NOW + 7)
    expect((await store.directory.key(used?.id ?? ''))?.lastUsedAt).toBe(NOW + 5)
    await other.directory.keepLastUsed()
    await store.directory.keepLastUsed()
    await store.directory.keepLastUsed()
    const { rows } = await store.directory.keys({ accountId: account.id, cursor: undefined, limit: 10 })
    // Whoever comes late with an earlier use does not undo a later one; embedded, the last one told is the last one.
    expect(rows.map(({ lastUsedAt }) => lastUsedAt)).toEqual([NOW + 5, store === other ? NOW + 7 : NOW + 9, undefined])
  })

  test('takes no money any more from the moment it is revoked, wherever that was', async () => {
    const { store, other } = stores
    const account = await newAccount(store)
    const key = keyOf(account.id)
    await store.directory.createKey(key)
    await deposit(store, account.id)
    await spend(store, { accountId: account.id, keyId: key.id })
    await other.directory.revokeKey(key.id, NOW)
    const held = await spend(store, { accountId: account.id, keyId: key.id }).catch(asGatewayError)
    expect(held).toMatchObject({ failure: { kind: 'credential-invalid' } })
  })
})
