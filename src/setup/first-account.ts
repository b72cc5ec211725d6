import type { Directory } from '../core/directory.ts'
import { newApiKey } from '../core/ids.ts'
import { newKey } from '../core/key.ts'
import { dollars } from '../core/money.ts'
import type { Records } from '../core/records.ts'
import type { Ledger } from '../ledger/ledger.ts'

const FIRST_BALANCE = dollars(100)

export interface FirstAccountDeps {
  readonly directory: Directory
  readonly ledger: Ledger
  readonly records: Records
  readonly clock: () => number
}

/** The account and the key of the very first start. Returns the key's secret, undefined on every later start. */
export async function createFirstAccount(
  bootstrapKey: string | undefined,
  { directory, ledger, records, clock }: FirstAccountDeps,
): Promise<string | undefined> {
  const createdAt = clock()
  const accountId = 'default'
  const secret = bootstrapKey ?? newApiKey()
  const account = { id: accountId, name: accountId, group: 'default', createdAt }
  // The operator's own.
  const firstKey = { ...newKey(secret, { accountId, name: 'first key', createdAt }), isAdmins: true }
  const created = await directory.createAccount(account, firstKey)
  // A first start that was killed in between is made good by the next one.
  const { rows: entries } = await records.entries(accountId, { cursor: undefined, limit: 1 })
  const opening = { kind: 'topup', source: 'opening', note: 'opening balance' } as const
  if (entries.length === 0) await ledger.deposit({ ...opening, accountId, amount: FIRST_BALANCE, at: createdAt })
  return created ? secret : undefined
}
