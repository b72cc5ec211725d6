import { describe, expect, test } from 'bun:test'
import { dollars, nanos } from '../../src/core/money.ts'
import { deposit, keyOf, NOW, newAccount, spend, useStores } from './stage.ts'

const openStores = useStores()

describe('how accounts stand', () => {
  test('all together, also where there is none', async () => {
    const { store } = await openStores()
    const nothing = { balance: nanos(0n), held: nanos(0n), spent: nanos(0n) }
    expect(await store.standing.totals()).toEqual(nothing)
    for (const amount of [1, 2]) await deposit(store, (await newAccount(store)).id, dollars(amount))
    expect(await store.standing.totals()).toEqual({ ...nothing, balance: dollars(3) })
  })

  test('the poorest of those that ever had money, or are named, come first', async () => {
    const { store } = await openStores()
    const accounts = await Promise.all(Array.from({ length: 4 }, () => newAccount(store)))
    const [never, two, one, rich] = accounts.map(({ id }) => id)
    await deposit(store, two ?? '', dollars(2))
    await deposit(store, one ?? '', dollars(1))
    await deposit(store, rich ?? '', dollars(9))
    const low = async (named: string[], limit = 10) =>
      (await store.standing.lowAccounts({ balance: dollars(2), named, limit })).map(({ id }) => id)
    expect(await low([])).toEqual([one ?? '', two ?? ''])
    expect(await low([rich ?? '', never ?? '', 'none'])).toEqual([never ?? '', one ?? '', two ?? '', rich ?? ''])
    expect(await low([], 1)).toEqual([one ?? ''])
  })
})

describe('how keys stand', () => {
  test('the fullest come first, of all accounts or of one', async () => {
    const { store } = await openStores()
    const [account, neighbour] = [await newAccount(store), await newAccount(store)]
    const keys = {
      half: keyOf(account.id, { cap: nanos(200_000n) }),
      full: keyOf(account.id, { cap: nanos(100_000n) }),
      free: keyOf(account.id),
      nearly: keyOf(neighbour.id, { cap: nanos(110_000n) }),
      expired: keyOf(account.id, { cap: nanos(100_000n), expiresAt: NOW }),
      playground: keyOf(account.id, { cap: nanos(100_000n), kind: 'playground' }),
      zero: keyOf(neighbour.id, { cap: nanos(0n) }),
    }
    for (const id of [account.id, neighbour.id]) await deposit(store, id)
    for (const key of Object.values(keys)) {
      await store.directory.createKey(key)
      if (key.cap !== 0n) await spend(store, { accountId: key.accountId, keyId: key.id, input: 100 })
    }
    const full = async (accountId: string | undefined, percent: number) => {
      const rows = await store.standing.fullKeys({ accountId, percent, now: NOW, limit: 10 })
      return rows.map(({ id }) => Object.entries(keys).find(([, key]) => key.id === id)?.[0])
    }
    expect(await full(undefined, 50)).toEqual(['full', 'zero', 'nearly', 'half'])
    expect(await full(undefined, 90.5)).toEqual(['full', 'zero', 'nearly'])
    expect(await full(account.id, 50)).toEqual(['full', 'half'])
    expect(await store.standing.fullKeys({ accountId: undefined, percent: 50, now: NOW, limit: 1 })).toHaveLength(1)
  })

  test('whether somebody made one, and gave it a cap', async () => {
    const { store } = await openStores()
    const [account, neighbour] = [await newAccount(store), await newAccount(store)]
    await store.directory.createKey(keyOf(account.id))
    expect(await store.standing.keySteps(undefined)).toEqual({ hasOwn: false, hasCap: false })
    await store.directory.createKey(keyOf(account.id, { createdAt: NOW + 1 }))
    await store.directory.createKey(keyOf(neighbour.id, { cap: dollars(1) }))
    expect(await store.standing.keySteps(undefined)).toEqual({ hasOwn: true, hasCap: true })
    expect(await store.standing.keySteps(account.id)).toEqual({ hasOwn: true, hasCap: false })
    expect(await store.standing.keySteps(neighbour.id)).toEqual({ hasOwn: false, hasCap: true })
  })
})
