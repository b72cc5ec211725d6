import { hash } from 'node:crypto'
import type { ChargeInputs, Entry } from './ledger.ts'

/** What the first entry of an account follows on. */
export const CHAIN_START = ''

/** Everything an entry says, and the hash of the entry before it, in one fixed order. */
export function chainHash(before: string, entry: Omit<Entry, 'hash'>): string {
  const { accountId, seq, kind, amount, balance, source, keyId, note, at, inputs } = entry
  const said = [before, accountId, seq, kind, `${amount}`, `${balance}`, source, keyId, note, at, charged(inputs)]
  return hash('sha256', JSON.stringify(said), 'hex')
}

function charged(inputs: ChargeInputs | undefined): string | undefined {
  if (!inputs) return undefined
  const { usage, price } = inputs
  const tokens = `${usage.input} ${usage.cacheRead} ${usage.cacheWrite} ${usage.output}`
  return `${tokens} at price ${price.id}: ${price.input} ${price.cacheRead} ${price.cacheWrite} ${price.output}`
}
