import { beforeAll, describe, expect, test } from 'bun:test'
import { CODES_MAX, type NewCode } from '../../src/core/codes.ts'
import { dollars, nanos } from '../../src/core/money.ts'
import { NOW, newAccount, newId, type Stores, useStores } from './stage.ts'

const openStores = useStores()

let stores: Stores

beforeAll(async () => {
  stores = await openStores()
})

const codeOf = (more: Partial<NewCode> = {}): NewCode => ({
  ...{ id: newId('rc'), codeHash: newId('code'), hint: 'duet-…-1234', amount: dollars(5), note: undefined },
  ...{ createdAt: NOW, expiresAt: undefined },
  ...more,
})

describe('codes', () => {
  test(`are made ${CODES_MAX} at once, all of them or none, and come back in their order`, async () => {
    const { codes } = stores.store
    const amount = nanos(9_007_199_254_740_993n)
    const many = Array.from({ length: CODES_MAX }, () => codeOf({ amount, note: `"it's" 50 % ?` }))
    const made = await codes.create(many)
    expect(made).toEqual(
      many.map(({ id, hint, amount, note }) => ({
        ...{ id, hint, amount, note, createdAt: NOW, expiresAt: undefined },
        ...{ redeemedAt: undefined, accountId: undefined, accountName: undefined },
      })),
    )
    const fresh = codeOf()
    const broken = codes.create([fresh, { ...codeOf(), codeHash: many[0]?.codeHash ?? '' }])
    expect(await broken.catch(() => 'failed')).toBe('failed')
    expect(await codes.revoke(fresh.id)).toBe('unknown')
  })

  test('are listed newest first, page by page, with who has redeemed them', async () => {
    const { store } = await openStores()
    const account = await newAccount(store)
    const codes = [1, 2, 3, 3, 3].map(at => codeOf({ createdAt: NOW + at }))
    await store.codes.create(codes)
    const [first] = codes
    await store.codes.claim({ codeHash: first?.codeHash ?? '', accountId: account.id, at: NOW })
    const ids: string[] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
      const { rows, next } = await store.codes.codes({ cursor, limit: 2 })
      ids.push(...rows.map(({ id }) => id))
      cursor = next
    }
    expect(ids).toEqual(codes.map(({ id }) => id).reverse())
    const { rows } = await store.codes.codes({ cursor: undefined, limit: 10 })
    expect(rows.at(-1)).toMatchObject({ accountId: account.id, accountName: account.name, redeemedAt: NOW })
  })

  test('can be taken back until they are redeemed', async () => {
    const { codes } = stores.store
    const [revoked, redeemed] = [codeOf(), codeOf()]
    await codes.create([revoked, redeemed])
    const account = await newAccount(stores.store)
    const claim = { accountId: account.id, at: NOW }
    await codes.claim({ codeHash: redeemed.codeHash, ...claim })
    expect(await codes.revoke(revoked.id)).toBe('revoked')
    expect(await codes.revoke(redeemed.id)).toBe('redeemed')
    expect(await codes.claim({ codeHash: revoked.codeHash, ...claim })).toBe('unknown')
  })
})

describe('a claim', () => {
  test('is made by one of many who come at the same time, wherever they are', async () => {
    const code = codeOf()
    await stores.store.codes.create([code])
    const accounts = await Promise.all(Array.from({ length: 10 }, () => newAccount(stores.store)))
    const claims = await Promise.all(
      accounts.map(({ id: accountId }, place) => {
        const { codes } = place % 2 ? stores.store : stores.other
        return codes.claim({ codeHash: code.codeHash, accountId, at: NOW })
      }),
    )
    const [claimed] = claims.filter(claim => typeof claim === 'object')
    expect(claimed).toMatchObject({ id: code.id, amount: code.amount, redeemedAt: NOW })
    expect(claims.filter(claim => claim === 'redeemed')).toHaveLength(9)
  })

  test('may be made again by whoever has made it, until it is paid', async () => {
    const { codes } = stores.store
    const code = codeOf()
    await codes.create([code])
    const account = await newAccount(stores.store)
    const claim = { codeHash: code.codeHash, accountId: account.id, at: NOW }
    const claimed = { ...{ id: code.id, hint: code.hint, amount: code.amount }, accountId: account.id, redeemedAt: NOW }
    expect(await codes.claim(claim)).toEqual(claimed)
    expect(await codes.claim({ ...claim, at: NOW + 1 })).toEqual(claimed)
    expect(await codes.unpaid(100)).toContainEqual(claimed)
    await codes.paid(code.id, 1)
    expect(await codes.claim(claim)).toBe('redeemed')
    expect(await codes.unpaid(100)).not.toContainEqual(claimed)
  })

  test('of what has expired, or does not exist, is none', async () => {
    const { codes } = stores.store
    const code = codeOf({ expiresAt: NOW + 1 })
    await codes.create([code])
    const { id: accountId } = await newAccount(stores.store)
    expect(await codes.claim({ codeHash: code.codeHash, accountId, at: NOW + 1 })).toBe('expired')
    expect(await codes.claim({ codeHash: 'none', accountId, at: NOW })).toBe('unknown')
    expect(await codes.claim({ codeHash: code.codeHash, accountId, at: NOW })).toMatchObject({ id: code.id })
  })
})
