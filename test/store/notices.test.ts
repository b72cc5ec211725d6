import { beforeAll, describe, expect, test } from 'bun:test'
import { dollars } from '../../src/core/money.ts'
import type { Store } from '../../src/core/store.ts'
import { deposit, NOW, newAccount, newId, useStores } from './stage.ts'

const openStores = useStores()

let store: Store
let other: Store

beforeAll(async () => {
  ;({ store, other } = await openStores())
})

const CLAIM_MS = 60_000

/** Told to one who asks at this time. */
const due = async (at: number, from = store) => {
  const rows = await from.notices.due({ now: at, claimedUntil: at + CLAIM_MS, triesMax: 3, limit: 100 })
  return rows.map(({ accountId }) => accountId)
}

async function lowAccount() {
  const account = await newAccount(store)
  const sealed = newId('sealed')
  await deposit(store, account.id, dollars(1))
  await store.notices.set({ accountId: account.id, threshold: dollars(2), sealed })
  return { ...account, sealed }
}

describe('a notice', () => {
  test('takes the place of the one before, and has told nothing yet', async () => {
    const account = await lowAccount()
    await store.notices.failed({ accountId: account.id, sealed: account.sealed }, { error: 'no', dueAt: NOW })
    await store.notices.told({ accountId: account.id, sealed: account.sealed }, NOW)
    const fresh = { accountId: account.id, threshold: dollars(3), sealed: newId('sealed') }
    const empty = { toldAt: undefined, failures: 0, error: undefined }
    expect(await store.notices.set(fresh)).toEqual({ ...fresh, ...empty })
    // What has become of the one before is no news of this one.
    await store.notices.told({ accountId: account.id, sealed: account.sealed }, NOW)
    expect(await store.notices.notice(account.id)).toEqual({ ...fresh, ...empty })
    expect(await store.notices.remove(account.id)).toBe(true)
    expect(await store.notices.remove(account.id)).toBe(false)
    expect(await store.notices.notice(account.id)).toBeUndefined()
  })

  test('is due for an account that is low, and not again once it was told', async () => {
    const account = await lowAccount()
    const [row] = (await store.notices.due({ now: NOW, claimedUntil: NOW + 1, triesMax: 3, limit: 100 })).filter(
      ({ accountId }) => accountId === account.id,
    )
    expect(row).toMatchObject({ accountName: account.name, balance: dollars(1), threshold: dollars(2), tries: 0 })
    await store.notices.told({ accountId: account.id, sealed: row?.sealed ?? '' }, NOW)
    expect(await due(NOW + CLAIM_MS)).not.toContain(account.id)
    expect(await store.notices.notice(account.id)).toMatchObject({ toldAt: NOW, failures: 0 })
  })

  test('is given to one of many who look at the same time', async () => {
    const account = await lowAccount()
    const looks = await Promise.all(Array.from({ length: 6 }, (_, place) => due(NOW, place % 2 ? store : other)))
    expect(looks.flat().filter(id => id === account.id)).toHaveLength(1)
    // Whoever was given it may have died since.
    expect(await due(NOW + CLAIM_MS)).toContain(account.id)
  })

  test('that fails is due again later, and given up after some tries', async () => {
    const account = await lowAccount()
    const notice = { accountId: account.id, sealed: account.sealed }
    for (const tries of [1, 2, 3]) {
      const at = NOW + tries * 10 * CLAIM_MS
      expect(await due(at)).toContain(account.id)
      await store.notices.failed(notice, { error: `try ${tries}`, dueAt: at + 5 * CLAIM_MS })
      expect(await due(at + 4 * CLAIM_MS)).not.toContain(account.id)
    }
    expect(await due(NOW + 1_000 * CLAIM_MS)).not.toContain(account.id)
    expect(await store.notices.notice(account.id)).toMatchObject({ failures: 3, error: 'try 3' })
  })

  test('is told anew after the balance has recovered and fallen again', async () => {
    const account = await lowAccount()
    await due(NOW)
    await store.notices.told({ accountId: account.id, sealed: account.sealed }, NOW)
    await deposit(store, account.id, dollars(5))
    expect(await due(NOW + CLAIM_MS)).not.toContain(account.id)
    expect(await store.notices.notice(account.id)).toMatchObject({ toldAt: undefined })
    await store.notices.set({ accountId: account.id, threshold: dollars(10), sealed: account.sealed })
    expect(await due(NOW + 2 * CLAIM_MS)).toContain(account.id)
  })
})
