import { createHash } from 'node:crypto'
import type { Entry } from './ledger.ts'
import { TOKEN_CLASSES } from './price.ts'

/** What the first entry of an account follows on. */
export const CHAIN_START = ''

/** Everything an entry says, and the hash of the entry before it, in one fixed order. */
export function chainHash(before: string, entry: Omit<Entry, 'hash'>): string {
  const { accountId, seq, kind, amount, balance, source, keyId, note, at, inputs } = entry
  const charged = inputs && [
    ...TOKEN_CLASSES.map(name => inputs.usage[name]),
    inputs.price.id,
    ...TOKEN_CLASSES.map(name => String(inputs.price[name])),
  ]
  const said = [before, accountId, seq, kind, `${amount}`, `${balance}`, source, keyId, note, at, charged]
  return createHash('sha256').update(JSON.stringify(said)).digest('hex')
}
