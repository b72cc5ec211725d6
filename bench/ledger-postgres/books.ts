import { newHex } from '../../src/core/ids.ts'
import { dollars } from '../../src/core/money.ts'
import type { Store } from '../../src/core/store.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { CALL, PRICE } from '../pair.ts'

export const accountName = (number: number): string => `acc_${String(number).padStart(6, '0')}`
export const keyName = (number: number): string => `key_${String(number).padStart(7, '0')}`

const UNLIMITED = { cap: undefined, models: undefined, expiresAt: undefined }
const AT_ONCE = 500

/** Accounts with a key and money each, and the price that everyone pays. */
export async function openBooks(store: Store, accounts: number): Promise<void> {
  const at = Date.now()
  const ledger = new Ledger(store.ledger, { owner: newHex(8), clock: Date.now })
  await store.prices.publish([{ model: CALL.model, price: PRICE }], at)
  const open = async (number: number) => {
    const [id, name] = [accountName(number), `bench ${number}`]
    await store.directory.createAccount({ id, name, group: 'default', createdAt: at })
    const key = { id: keyName(number), accountId: id, name, secretHash: name, hint: 'x', createdAt: at }
    await store.directory.createKey({ ...key, ...UNLIMITED })
    const money = { kind: 'topup', accountId: id, source: 'bench', note: undefined, at } as const
    await ledger.deposit({ ...money, amount: dollars(1_000_000) })
  }
  for (let first = 0; first < accounts; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, accounts - first)
    await Promise.all(Array.from({ length: count }, (_, place) => open(first + place)))
  }
}
