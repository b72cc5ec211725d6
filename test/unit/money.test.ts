import { describe, expect, test } from 'bun:test'
import { bill, formatDollars, formatMicroDollars, nanos, parseDollars, pricePerMillion } from '../../src/core/money.ts'

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
  test('is rounded once, upwards', () => {
    const price = pricePerMillion(0.0000001)
    expect(price).toBe(100n as typeof price)
    expect(bill([{ tokens: 1, price }])).toBe(nanos(1n))
    expect(bill(Array.from({ length: 4 }, () => ({ tokens: 1, price })))).toBe(nanos(1n))
    expect(bill([{ tokens: 10_001, price }])).toBe(nanos(2n))
  })

  test('is exact where there is nothing to round', () => {
    expect(
      bill([
        { tokens: 4, price: pricePerMillion(2) },
        { tokens: 12, price: pricePerMillion(8) },
      ]),
    ).toBe(nanos(104_000n))
    expect(bill([])).toBe(nanos(0n))
  })
})
