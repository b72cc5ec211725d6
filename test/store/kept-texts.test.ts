import { beforeAll, describe, expect, test } from 'bun:test'
import type { StoredAnswer } from '../../src/core/repeats.ts'
import type { Store } from '../../src/core/store.ts'
import { deposit, keyOf, NOW, newAccount, newId, spend, useStores } from './stage.ts'

const openStores = useStores()

let store: Store

beforeAll(async () => {
  ;({ store } = await openStores())
})

const DAY_MS = 86_400_000

async function newKey(keepDays?: number) {
  const { id: accountId } = await newAccount(store)
  const key = keyOf(accountId)
  await store.directory.createKey(key)
  if (keepDays !== undefined) await store.directory.changeKey(key.id, { keepDays })
  return { keyId: key.id, accountId }
}

describe('a capture', () => {
  const captureOf = (keyId: string, createdAt = NOW) => ({
    ...{ requestId: newId('request'), keyId, sealed: 'sealed text', isCut: true, createdAt },
  })

  test('is kept for as long as its key says, and not at all for a key that says nothing', async () => {
    const [{ keyId }, silent] = [await newKey(2), await newKey()]
    const [capture, none] = [captureOf(keyId), captureOf(silent.keyId)]
    await store.captures.keep(capture)
    await store.captures.keep({ ...capture, sealed: 'a second time' })
    await store.captures.keep(none)
    expect(await store.captures.find(capture.requestId, NOW)).toEqual({ ...capture, expiresAt: NOW + 2 * DAY_MS })
    expect(await store.captures.find(capture.requestId, NOW + 2 * DAY_MS)).toBeUndefined()
    expect(await store.captures.find(none.requestId, NOW)).toBeUndefined()
  })

  test('goes sooner when its key is told to keep less, and at once when it is told to keep nothing', async () => {
    const { keyId } = await newKey(10)
    const captures = Array.from({ length: 45 }, (_, place) => captureOf(keyId, NOW - (place % 3) * DAY_MS))
    for (const capture of captures) await store.captures.keep(capture)
    await store.directory.changeKey(keyId, { keepDays: 2 })
    await store.captures.shorten({ keyId, keepDays: 2, now: NOW })
    const expiries = await Promise.all(
      captures.map(async ({ requestId }) => (await store.captures.find(requestId, NOW))?.expiresAt),
    )
    expect(expiries).toEqual(
      captures.map((_, place) => (place % 3 === 2 ? undefined : NOW + (2 - (place % 3)) * DAY_MS)),
    )
    await store.captures.shorten({ keyId, keepDays: undefined, now: NOW })
    await store.directory.changeKey(keyId, { keepDays: 5 })
    const left = await Promise.all(captures.map(({ requestId }) => store.captures.find(requestId, NOW)))
    expect(left.filter(capture => capture !== undefined)).toEqual([])
  })

  test('is forgotten when its time is over', async () => {
    const { keyId } = await newKey(1)
    for (let count = 0; count < 45; count++) await store.captures.keep(captureOf(keyId, NOW - 3 * DAY_MS))
    const fresh = captureOf(keyId)
    await store.captures.keep(fresh)
    expect(await store.captures.purge(NOW)).toBe(45)
    expect(await store.captures.purge(NOW)).toBe(0)
    expect(await store.captures.find(fresh.requestId, NOW)).toBeDefined()
  })
})

describe('an answer', () => {
  const answerOf = (keyId: string, more: Partial<StoredAnswer> = {}): StoredAnswer => ({
    ...{ keyId, nameHash: newId('name'), fingerprint: 'print', requestId: newId('request') },
    ...{ headers: { 'x-one': 'two' }, isStream: true, sealed: new Uint8Array([0, 1, 255]), expiresAt: NOW + 10 },
    ...more,
  })

  async function kept(answer: StoredAnswer, accountId: string) {
    await spend(store, { accountId, keyId: answer.keyId, requestId: answer.requestId, answer })
    return answer
  }

  test('is stored with its charge, byte for byte, and found until its time is over', async () => {
    const { keyId, accountId } = await newKey()
    await deposit(store, accountId)
    const answer = await kept(answerOf(keyId), accountId)
    const found = await store.answers.find(answer, NOW)
    expect({ ...found, sealed: [...(found?.sealed ?? [])] }).toEqual({ ...answer, sealed: [0, 1, 255] } as never)
    expect(await store.answers.find({ keyId, nameHash: 'none' }, NOW)).toBeUndefined()
    expect(await store.answers.find(answer, NOW + 10)).toBeUndefined()
    const bare = await kept(answerOf(keyId, { sealed: undefined, isStream: false }), accountId)
    expect(await store.answers.find(bare, NOW)).toEqual(bare)
  })

  test('is forgotten when its time is over; what is left is counted by key', async () => {
    const [one, two] = [await newKey(), await newKey()]
    for (const { accountId } of [one, two]) await deposit(store, accountId)
    for (let count = 0; count < 25; count++) await kept(answerOf(one.keyId), one.accountId)
    const left = await kept(answerOf(one.keyId, { expiresAt: NOW + 100 }), one.accountId)
    await kept(answerOf(one.keyId, { expiresAt: NOW + 100, sealed: new Uint8Array(1_000) }), one.accountId)
    await kept(answerOf(two.keyId, { expiresAt: NOW + 100, sealed: undefined }), two.accountId)
    const bytes = await store.answers.purge(NOW + 50)
    expect([bytes.get(one.keyId), bytes.get(two.keyId), bytes.get('none')]).toEqual([1_003, 0, undefined])
    expect(await store.answers.find(left, NOW + 50)).toBeDefined()
  })
})
