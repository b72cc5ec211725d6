import { describe, expect, test } from 'bun:test'
import { CHAIN_START, chainHash } from '../../src/core/chain.ts'
import type { ChargeInputs, Entry } from '../../src/core/ledger.ts'
import { nanos, pricePerMillion } from '../../src/core/money.ts'

const INPUTS: ChargeInputs = {
  usage: { input: 1, cacheRead: 2, cacheWrite: 3, output: 4 },
  price: {
    id: 5,
    input: pricePerMillion(6),
    output: pricePerMillion(7),
    cacheRead: pricePerMillion(8),
    cacheWrite: pricePerMillion(9),
  },
}

const CHARGE: Omit<Entry, 'hash'> = {
  ...{ accountId: 'acc', seq: 10, kind: 'charge', amount: nanos(-11n), balance: nanos(12n), source: 'request' },
  ...{ keyId: 'key', note: undefined, at: 13, inputs: INPUTS },
}

const OTHERS: Readonly<Record<keyof typeof CHARGE, readonly Partial<Entry>[]>> = {
  accountId: [{ accountId: 'acc2' }],
  seq: [{ seq: 11 }],
  kind: [{ kind: 'adjustment' }],
  amount: [{ amount: nanos(11n) }, { amount: nanos(-111n) }],
  balance: [{ balance: nanos(-12n) }],
  source: [{ source: 'requesu' }],
  keyId: [{ keyId: undefined }, { keyId: 'kez' }],
  note: [{ note: '' }, { note: 'null' }],
  at: [{ at: 14 }],
  inputs: [
    { inputs: undefined },
    ...Object.keys(INPUTS.usage).map(name => ({ inputs: { ...INPUTS, usage: { ...INPUTS.usage, [name]: 99 } } })),
    ...Object.keys(INPUTS.price).map(name => ({
      inputs: { ...INPUTS, price: { ...INPUTS.price, [name]: name === 'id' ? 99 : pricePerMillion(99) } },
    })),
  ],
}

describe('the hash of an entry', () => {
  test('is the same for the same entry', () => {
    expect(chainHash('before', { ...CHARGE })).toBe(chainHash('before', CHARGE))
    expect(chainHash(CHAIN_START, CHARGE)).toMatch(/^[0-9a-f]{64}$/)
  })

  test('depends on everything the entry says, and on all before it', () => {
    const changed = Object.values(OTHERS).flat()
    const hashes = changed.map(change => chainHash('before', { ...CHARGE, ...change }))
    const all = new Set([...hashes, chainHash('before', CHARGE), chainHash('afore', CHARGE)])
    expect(all.size).toBe(changed.length + 2)
  })

  test('tells where one field ends and the next begins', () => {
    const one = chainHash('', { ...CHARGE, source: 'a', keyId: 'bc' })
    expect(chainHash('', { ...CHARGE, source: 'ab', keyId: 'c' })).not.toBe(one)
    const quoted = chainHash('', { ...CHARGE, source: 'a","b', keyId: 'c' })
    expect(chainHash('', { ...CHARGE, source: 'a', keyId: 'b","c' })).not.toBe(quoted)
  })

  test('does not depend on tokens that cost nothing of their own: reasoning is a part of the output', () => {
    const usage = { ...INPUTS.usage, reasoning: 3 }
    expect(chainHash('', { ...CHARGE, inputs: { ...INPUTS, usage } })).toBe(chainHash('', CHARGE))
  })
})
