import { expect } from 'bun:test'
import type { UsageView } from '../../src/admin/contract.ts'
import { type Books, chargesIn, costOf, expectSound, nanosOf, type Tokens } from './support.ts'

/** What must be in the books about one request. */
export interface Bill {
  readonly status: string
  readonly ending: string | null
  readonly source: UsageView['source']
  /** Those that are not named are zero. */
  readonly tokens: Partial<Tokens>
}

const NO_TOKENS = { input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0 }

/** One record with exactly this bill, one charge of exactly its cost or none at all, and nothing held. */
export function expectBilled(books: Books, { tokens, ...said }: Bill, about?: string): void {
  expectSound(books)
  expect(books.rows, about).toMatchObject([{ ...said, tokens: { ...NO_TOKENS, ...tokens } }])
  const cost = costOf(tokens)
  expect(nanosOf(books.rows[0]?.cost ?? '')).toBe(cost)
  expect(chargesIn(books).map(({ amount }) => -nanosOf(amount))).toEqual(cost > 0n ? [cost] : [])
}
