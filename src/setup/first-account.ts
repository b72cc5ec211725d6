import type { Directory } from '../core/directory.ts'
import { newApiKey } from '../core/ids.ts'
import { newKey } from '../core/key.ts'
import { dollars } from '../core/money.ts'
import type { Ledger } from '../ledger/ledger.ts'

const FIRST_BALANCE = dollars(100)

export interface FirstAccountDeps {
  readonly directory: Directory
  readonly ledger: Ledger
  readonly clock: () => number
}

/** The account and the key of the very first start. Returns the key's secret, undefined on every later start. */
export async function createFirstAccount(
  bootstrapKey: string | undefined,
  { directory, ledger, clock }: FirstAccountDeps,
): Promise<string | undefined> {
  const createdAt = clock()
  const account = await directory.createAccount({ id: 'default', name: 'default', group: 'default', createdAt })
  if (!account) return undefined
  const accountId = account.id
  const opening = { kind: 'topup', source: 'opening', note: 'opening balance' } as const
  await ledger.deposit({ ...opening, accountId, amount: FIRST_BALANCE, at: createdAt })
  const secret = bootstrapKey ?? newApiKey()
  await directory.createKey(newKey(secret, { accountId, name: 'first key', createdAt }))
  return secret
}
