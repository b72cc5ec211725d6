import type { HeldCall } from '../src/core/ledger.ts'
import { nanos, pricePerMillion } from '../src/core/money.ts'

/** The hold and the settlement that are measured: a call of some length, as a coding agent makes many. */

export const CALL: Omit<HeldCall, 'priceId'> = {
  model: 'acme/swift-2',
  channel: 'acme-main',
  protocol: 'chat',
  upstreamProtocol: 'messages',
  stream: true,
}
export const USAGE = { input: 1_000, cacheRead: 200, cacheWrite: 0, output: 300, reasoning: 100 }
export const PRICE = {
  input: pricePerMillion(0.25),
  output: pricePerMillion(2),
  cacheRead: pricePerMillion(0.025),
  cacheWrite: pricePerMillion(0.3125),
}
export const HELD = { most: nanos(9_000_000n), least: nanos(1_000_000n) }
