import { signal } from '@preact/signals'
import type { KeyView, UsageView } from '../../../src/admin/contract.ts'
import { isTooLittle } from '../../app/balance.ts'
import { compare, isZero, ratio, subtract } from '../../app/decimal.ts'
import { REFUSAL_CODES } from '../../kit/index.ts'

/** From this share of the cap on a key is about to be refused. */
const NEAR = 0.8

/** What a key may still spend. With `little` it is not at its cap, and calls are refused all the same. */
export type Room = 'plenty' | 'near' | 'little' | 'none'

/** Keys whose last call that says anything about the cap was refused because of it. */
const refused = signal<ReadonlySet<string>>(new Set())

/** What is held for calls under way comes back in part, so it is not counted: a key would be in need for seconds. */
export function leftOf({ cap, spent }: KeyView): string {
  return cap === null || compare(spent, cap) >= 0 ? '0' : subtract(cap, spent)
}

export function roomOf(key: KeyView): Room {
  const { cap, spent, status, id } = key
  if (cap === null) return 'plenty'
  if (status === 'cap-reached' || isZero(leftOf(key))) return 'none'
  if (isTooLittle(leftOf(key)) || refused.value.has(id)) return 'little'
  return ratio(spent, cap) >= NEAR ? 'near' : 'plenty'
}

/** Newest last, as events come. */
export function noteCalls(rows: readonly Pick<UsageView, 'key' | 'status'>[]): void {
  const next = new Set(refused.value)
  for (const { key, status } of rows) {
    if (status === REFUSAL_CODES.cap) next.add(key)
    else if (status === 'ok') next.delete(key)
  }
  if (next.symmetricDifference(refused.value).size > 0) refused.value = next
}

/** Its cap is another now. */
export function forgetCalls(id: string): void {
  noteCalls([{ key: id, status: 'ok' }])
}
