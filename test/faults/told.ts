import { expect } from 'bun:test'
import type { UsageView } from '../../src/admin/contract.ts'
import type { Heard } from './crowd.ts'
import { type Books, chargesIn, costOf, nanosOf } from './support.ts'

/** Exactly one charge for every answer that a client holds whole, of exactly what the client was told. */
export function expectBillsAsTold(heard: readonly Heard[], accounts: readonly Books[]): void {
  const rows = new Map(accounts.flatMap(books => books.rows).map(row => [row.request_id, row]))
  const charges = accounts.flatMap(chargesIn)
  const charged = new Map(charges.map(({ source, amount }) => [source, -nanosOf(amount)]))
  expect(charged.size).toBe(charges.length)

  for (const { requestId, ending, told, status } of heard) {
    const row = rows.get(requestId)
    if (ending === 'whole') {
      expect(row).toMatchObject({ status: 'ok', cost: told?.cost, tokens: { ...told?.tokens, reasoning: 0 } })
      const cost = costOf(told?.tokens ?? {})
      expect([nanosOf(told?.cost ?? ''), charged.get(requestId)]).toEqual([cost, cost])
    }
    // Who was refused was never held against, and nobody waits for the record of it; who was told that the upstream had
    // failed pays nothing.
    if (status === 403) {
      const { cost, channel } = row ?? { cost: '0.00', channel: '' }
      expect([cost, channel, charged.get(requestId)]).toEqual(['0.00', '', undefined])
    }
    if (status === 502) expect([row?.cost, charged.get(requestId)]).toEqual(['0.00', undefined])
  }
}

export function expectInterruptedFree(accounts: readonly Books[]): void {
  const charged = new Set(accounts.flatMap(chargesIn).map(({ source }) => source))
  for (const { cost, request_id, tokens } of interruptedIn(accounts)) {
    const used = Object.values(tokens).reduce((sum, count) => sum + count, 0)
    expect({ cost, used, isCharged: charged.has(request_id) }).toEqual({ cost: '0.00', used: 0, isCharged: false })
  }
}

export const interruptedIn = (accounts: readonly Books[]): readonly UsageView[] =>
  accounts.flatMap(({ rows }) => rows).filter(({ status }) => status === 'interrupted')
