import { beforeAll, describe, expect, test } from 'bun:test'
import { pricePerMillion } from '../../src/core/money.ts'
import type { Store } from '../../src/core/store.ts'
import { NOW, newId, type Stores, useStores } from './stage.ts'

const openStores = useStores()

let stores: Stores
let store: Store

beforeAll(async () => {
  stores = await openStores()
  store = stores.store
})

const keyOf = (id: string) => ({ id, hint: `…${id}`, sealed: `sealed ${id}` })

describe('what the console defines', () => {
  test('models are changed as a whole, and stay in the order in which they were made', async () => {
    const settings = { context: 1_000, note: 'ünï\\"' }
    await store.managed.putModel({ id: 'b', settings }, NOW)
    await store.managed.putModel({ id: 'a', settings: {} }, NOW + 1)
    await store.managed.putModel({ id: 'b', settings: { context: 2_000 } }, NOW + 2)
    expect((await store.managed.managed()).models).toEqual([
      { id: 'b', settings: { context: 2_000 } },
      { id: 'a', settings: {} },
    ])
    await store.managed.removeModel('b')
    expect((await store.managed.managed()).models).toEqual([{ id: 'a', settings: {} }])
  })

  test('a channel keeps its keys in the order in which they came, and forgets those that are gone, with their pauses', async () => {
    const name = newId('channel')
    const channel = async () => (await store.managed.managed()).channels.find(found => found.name === name)
    const pauses = async () => (await store.managed.managed()).pauses.filter(pause => pause.channel === name)
    await store.managed.putChannel({ name, settings: { url: 'one' }, keys: ['z', 'y', 'x'].map(keyOf) }, NOW)
    expect((await channel())?.keys).toEqual(['z', 'y', 'x'].map(keyOf))
    for (const keyId of ['z', 'y', undefined]) await store.managed.setPaused({ channel: name, keyId }, true, NOW)
    await store.managed.setPaused({ channel: name, keyId: 'z' }, true, NOW)
    await store.managed.putChannel({ name, settings: { url: 'two' }, keys: ['y', 'w'].map(keyOf) }, NOW + 1)
    expect(await channel()).toEqual({ name, settings: { url: 'two' }, keys: ['y', 'w'].map(keyOf) })
    expect(await pauses()).toEqual(
      expect.arrayContaining([
        { channel: name, keyId: 'y' },
        { channel: name, keyId: undefined },
      ]),
    )
    expect(await pauses()).toHaveLength(2)
    await store.managed.setPaused({ channel: name, keyId: 'y' }, false, NOW)
    expect(await pauses()).toEqual([{ channel: name, keyId: undefined }])
    await store.managed.removeChannel(name)
    expect([await channel(), await pauses()]).toEqual([undefined, []])
  })

  test('a channel that is changed by many at the same time is as one of them has said', async () => {
    const name = newId('channel')
    await Promise.all(
      Array.from({ length: 6 }, (_, place) => {
        const { managed } = place % 2 ? stores.store : stores.other
        return managed.putChannel({ name, settings: { place }, keys: [keyOf(`only ${place}`)] }, NOW)
      }),
    )
    const found = (await store.managed.managed()).channels.find(channel => channel.name === name)
    const place = found?.settings.place
    expect(found?.keys).toEqual([keyOf(`only ${place}`)])
  })
})

describe('prices', () => {
  const priceOf = (dollars: number) => {
    const one = pricePerMillion(dollars)
    return { input: one, output: one, cacheRead: one, cacheWrite: one }
  }

  test('get a new version where they have changed, and only there', async () => {
    const [same, changing] = [newId('model'), newId('model')]
    const publish = (dollars: number, at: number) =>
      store.prices.publish(
        [
          { model: same, price: priceOf(1) },
          { model: changing, price: priceOf(dollars) },
        ],
        at,
      )
    const first = await publish(2, NOW)
    const again = await publish(2, NOW + 1)
    expect(again.get(changing)).toEqual(first.get(changing) as NonNullable<ReturnType<typeof first.get>>)
    const third = await publish(3, NOW + 2)
    expect(third.get(changing)).toMatchObject({ model: changing, version: 2, since: NOW + 2, ...priceOf(3) })
    expect(third.get(same)).toMatchObject({ version: 1, since: NOW })
    expect((await store.prices.history(changing, 10)).map(({ version }) => version)).toEqual([2, 1])
    expect((await store.prices.history(changing, 1)).map(({ version }) => version)).toEqual([2])
  })

  test('are the same version for all who publish them at the same time', async () => {
    const model = newId('model')
    const published = await Promise.all(
      Array.from({ length: 6 }, (_, place) => {
        const { prices } = place % 2 ? stores.store : stores.other
        return prices.publish([{ model, price: priceOf(1) }], NOW)
      }),
    )
    expect(new Set(published.map(prices => prices.get(model)?.id)).size).toBe(1)
    expect(await store.prices.history(model, 10)).toHaveLength(1)
  })
})
