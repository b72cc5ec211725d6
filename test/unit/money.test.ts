import { describe, expect, test } from 'bun:test'
import { formatDollars, formatMicroDollars, nanos, parseDollars, pricePerMillion } from '../../src/core/money.ts'
import { cost } from '../../src/core/price.ts'
import { NO_USAGE } from '../../src/core/usage.ts'

describe('dollars', () => {
  const ROWS: [text: string, amount: bigint, shown: string][] = [
    ['0', 0n, '0.00'],
    ['100', 100_000_000_000n, '100.00'],
    ['0.25', 250_000_000n, '0.25'],
    ['0.000000001', 1n, '0.000000001'],
    ['-3.5', -3_500_000_000n, '-3.50'],
    ['1.230', 1_230_000_000n, '1.23'],
    ['1000000000', 1_000_000_000_000_000_000n, '1000000000.00'],
  ]
  for (const [text, amount, shown] of ROWS) {
    test(`${text} is read exactly and shown as ${shown}`, () => {
      expect(parseDollars(text)).toBe(nanos(amount))
      expect(formatDollars(nanos(amount))).toBe(shown)
      expect(parseDollars(shown)).toBe(nanos(amount))
    })
  }
  for (const text of ['', '.', '1.', '.5', '1e3', '1,000', '0x1', ' 1', '1.0000000001', '1000000001', 'NaN', '--1']) {
    test(`"${text}" is not an amount`, () => expect(parseDollars(text)).toBeUndefined())
  }

  test('quota messages have six decimals and no separators', () => {
    expect(formatMicroDollars(nanos(16_384_000n))).toBe('0.016384')
    expect(formatMicroDollars(nanos(-1_500n))).toBe('-0.000001')
    expect(formatMicroDollars(nanos(1_234_567_000_000_999n))).toBe('1234567.000000')
  })
})

describe('a bill', () => {
  const of = (dollars: number) => pricePerMillion(dollars)

  test('is rounded once, upwards', () => {
    const price = { input: of(0.0000001), cacheRead: of(0.0000001), cacheWrite: of(0.0000001), output: of(0.0000001) }
    expect(price.input).toBe(100n as typeof price.input)
    expect(cost({ ...NO_USAGE, input: 1 }, price)).toBe(nanos(1n))
    expect(cost({ input: 1, cacheRead: 1, cacheWrite: 1, output: 1, reasoning: 1 }, price)).toBe(nanos(1n))
    expect(cost({ ...NO_USAGE, output: 10_001 }, price)).toBe(nanos(2n))
  })

  test('is exact where there is nothing to round', () => {
    const price = { input: of(2), cacheRead: of(3), cacheWrite: of(5), output: of(8) }
    expect(cost({ ...NO_USAGE, input: 4, output: 12 }, price)).toBe(nanos(104_000n))
    expect(cost({ ...NO_USAGE, cacheRead: 10, cacheWrite: 100 }, price)).toBe(nanos(530_000n))
    expect(cost(NO_USAGE, price)).toBe(nanos(0n))
  })
})
