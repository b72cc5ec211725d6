import type { ChargeInputs, Entry } from './ledger.ts'

/** What the first entry of an account follows on. */
export const CHAIN_START = ''

/**
 * Everything an entry says, and the hash of the entry before it, in one fixed order. Texts that people have written are
 * quoted, so that no two entries say the same in different words.
 */
export function chainHash(before: string, entry: Omit<Entry, 'hash'>): string {
  const { accountId, seq, kind, amount, balance } = entry
  return Bun.SHA256.hash(`${before} ${accountId} ${seq} ${kind} ${amount} ${balance} ${chainRest(entry)}`, 'hex')
}

/** What does not depend on the entry before, for a store that has that one at hand and makes the hash itself. */
export function chainRest({ source, keyId, note, at, inputs }: Rest): string {
  const texts = `${JSON.stringify(source)} ${note === undefined ? '' : JSON.stringify(note)}`
  return `${keyId ?? ''} ${at} ${charged(inputs)} ${texts}`
}

type Rest = Pick<Entry, 'source' | 'keyId' | 'note' | 'at' | 'inputs'>

function charged(inputs: ChargeInputs | undefined): string {
  if (!inputs) return ''
  const { usage, price } = inputs
  return `${usage.input} ${usage.cacheRead} ${usage.cacheWrite} ${usage.output} ${priceText(price)}`
}

/** The same few prices stand behind millions of charges. */
const priceTexts = new WeakMap<ChargeInputs['price'], string>()

function priceText(price: ChargeInputs['price']): string {
  const known = priceTexts.get(price)
  if (known !== undefined) return known
  const text = `${price.id} ${price.input} ${price.cacheRead} ${price.cacheWrite} ${price.output}`
  priceTexts.set(price, text)
  return text
}
