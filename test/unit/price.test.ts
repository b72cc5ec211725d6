import { describe, expect, test } from 'bun:test'
import { nanos, pricePerMillion } from '../../src/core/money.ts'
import { affordableOutput, affordableUsage, cost, isSamePrice, type Price } from '../../src/core/price.ts'
import { NO_USAGE } from '../../src/core/usage.ts'

const priceOf = (input: number, output: number, cache = input): Price => ({
  input: pricePerMillion(input),
  output: pricePerMillion(output),
  cacheRead: pricePerMillion(cache),
  cacheWrite: pricePerMillion(cache),
})

describe('how much output an amount pays for', () => {
  const PRICES = [priceOf(1, 4), priceOf(0.123456789, 0.987654321), priceOf(0.0000003, 0.0000007), priceOf(15, 75)]
  const AMOUNTS = [0n, 1n, 2n, 999n, 4_000n, 4_001n, 123_456n, 10_000_000n, 987_654_321_987n]

  for (const price of PRICES) {
    for (const prompt of [0, 7, 12_345]) {
      test(`at ${price.output} per million after ${prompt} tokens: never more than the amount, and not a token less`, () => {
        const promptCost = cost({ ...NO_USAGE, input: prompt }, price)
        for (const amount of AMOUNTS.map(rest => nanos(promptCost + rest))) {
          const output = affordableOutput(amount, promptCost, price)
          expect(cost({ ...NO_USAGE, input: prompt, output }, price)).toBeLessThanOrEqual(amount)
          // The prompt is rounded up by itself, so up to one billionth may be left unused.
          const next = cost({ ...NO_USAGE, input: prompt, output: output + 1 }, price)
          expect(next + 1n).toBeGreaterThan(amount)
        }
      })
    }
  }

  test('an amount below the prompt pays for none', () => {
    expect(affordableOutput(nanos(9n), nanos(10n), priceOf(1, 4))).toBe(0)
    expect(affordableOutput(nanos(-5n), nanos(0n), priceOf(1, 4))).toBe(0)
  })

  test('output that costs nothing has no limit', () => {
    expect(affordableOutput(nanos(10n), nanos(10n), priceOf(1, 0))).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('as much of a usage as an amount pays for', () => {
  const usage = { input: 1_000, cacheRead: 200, cacheWrite: 100, output: 500, reasoning: 400 }

  for (const price of [priceOf(1, 4, 0.1), priceOf(0.123456789, 0.987654321, 0.3), priceOf(15, 75)]) {
    test(`at ${price.output} per million: never more than the amount, and not a token less`, () => {
      const whole = cost(usage, price)
      for (let part = 0n; part <= 20n; part++) {
        const amount = nanos((whole * part) / 20n)
        const affordable = affordableUsage(usage, amount, price)
        expect(cost(affordable, price)).toBeLessThanOrEqual(amount)
        expect(affordable.reasoning).toBeLessThanOrEqual(affordable.output)
        const next = affordable.input < usage.input ? 'input' : 'output'
        const more = { ...affordable, [next]: affordable[next] + 1 }
        if (part < 20n) expect(cost(more, price)).toBeGreaterThan(amount)
      }
    })
  }

  test('is all of it where the amount suffices', () => {
    const price = priceOf(1, 4)
    expect(affordableUsage(usage, cost(usage, price), price)).toEqual(usage)
  })

  test('has all that costs nothing', () => {
    expect(affordableUsage(usage, nanos(0n), priceOf(0, 0))).toEqual(usage)
  })
})

describe('a price', () => {
  test('is another one if any of its four parts is', () => {
    expect(isSamePrice(priceOf(1, 4), priceOf(1, 4))).toBe(true)
    for (const other of [priceOf(1.000000001, 4, 1), priceOf(1, 4.000000001), priceOf(1, 4, 0.5)]) {
      expect(isSamePrice(priceOf(1, 4), other)).toBe(false)
    }
  })
})
