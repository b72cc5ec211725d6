import { describe, expect, test } from 'bun:test'
import { newKey } from '../../src/core/key.ts'
import { dollars, pricePerMillion } from '../../src/core/money.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { verify } from '../../src/ledger/verify.ts'
import { newFolder, startDuet } from '../support/duet.ts'
import { openStoreOf, openTablesOf } from '../support/stores.ts'

describe('8. Recomputable: more rows than are read at once', () => {
  const OPENING = 1

  /** The folder of a store with one account of this many entries, all but the first of them charges. */
  async function write(entries: number): Promise<string> {
    const folder = newFolder()
    const store = await openStoreOf(folder)
    const ledger = new Ledger(store.ledger, { owner: 'writer', clock: () => 0 })
    const { directory, prices } = store
    await directory.createAccount({ id: 'acc', name: 'acc', group: 'default', createdAt: 0 })
    const { id: keyId } = await directory.createKey(newKey('secret', { accountId: 'acc', name: 'key', createdAt: 0 }))
    const amount = dollars(1_000)
    await ledger.deposit({ kind: 'topup', accountId: 'acc', amount, source: 'first', note: undefined, at: 0 })
    const rate = pricePerMillion(1)
    const rates = { input: rate, output: rate, cacheRead: rate, cacheWrite: rate }
    const [price] = (await prices.publish([{ model: 'm', price: rates }], 0)).values()
    if (!price) throw new Error('there is no price')
    const call = { model: 'm', channel: 'c', protocol: 'chat', upstreamProtocol: 'chat', stream: false } as const
    await Promise.all(
      Array.from({ length: entries - OPENING }, async (_, i) => {
        const who = { requestId: `r${i}`, accountId: 'acc', keyId, call: { ...call, priceId: price.id } }
        await ledger.hold({ ...who, most: dollars(1), least: dollars(0), at: i })
        await ledger.settle({
          ...{ ...who, price, status: 'ok', ending: 'stop', source: 'upstream' },
          ...{ usage: { ...NO_USAGE, input: i + 1 }, startedAt: i, firstByteMs: 0, durationMs: 0 },
        })
      }),
    )
    await store.close()
    return folder
  }

  async function verified(folder: string) {
    const store = await openStoreOf(folder)
    const seen: number[] = []
    let turns = 0
    let isOver = false
    const takeTurn = () => {
      turns++
      if (!isOver) setImmediate(takeTurn)
    }
    setImmediate(takeTurn)
    const verification = await verify(store.audit, { report: ({ checked, total }) => void seen.push(checked / total) })
    isOver = true
    await store.close()
    return { ...verification, seen, turns }
  }

  for (const entries of [999, 1_000, 1_001, 2_500]) {
    test(`${entries} entries are followed to the last, while other work has its turns`, async () => {
      const { problem, seen, turns, ...counts } = await verified(await write(entries))
      expect(problem).toBeUndefined()
      expect(counts).toMatchObject({ entries, charges: entries - OPENING, usage: entries - OPENING })
      expect(seen).toEqual(seen.toSorted((a, b) => a - b))
      expect(seen.at(-1)).toBe(1)
      expect(turns).toBeGreaterThanOrEqual(2)
    })
  }

  for (const seq of [1_000, 1_001, 2_500]) {
    test(`a change of entry ${seq} of 2,500 is found there`, async () => {
      const folder = await write(2_500)
      const tables = await openTablesOf(folder)
      await tables.run('UPDATE entries SET source = ? WHERE seq = ?', 'another', seq)
      await tables.close()
      expect((await verified(folder)).problem).toMatchObject({ table: 'entries', row: `acc/${seq}` })
    })
  }
})

test('8. Recomputable: a verification that takes its time is told line by line, and its last line is the result', async () => {
  const duet = await startDuet()
  const response = await fetch(`${duet.url}/api/ledger/verify`, {
    headers: { authorization: `Bearer ${duet.adminToken}`, accept: 'application/x-ndjson' },
  })
  expect(response.headers.get('content-type')).toContain('application/x-ndjson')
  const lines = (await response.text()).trimEnd().split('\n')
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ ok: true, entries: 1, problem: null })
  await duet.stop()
})
