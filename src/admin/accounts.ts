import type { Account, Directory } from '../core/directory.ts'
import { newHex } from '../core/ids.ts'
import type { Deposit, Entry } from '../core/ledger.ts'
import { formatDollars, ZERO } from '../core/money.ts'
import type { Records } from '../core/records.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AccountView, DepositView, EntryView, List } from './contract.ts'
import { conflict, notFound, unprocessable } from './failure.ts'
import { ADJUSTMENT, NEW_ACCOUNT, read, readPage, TOP_UP } from './input.ts'

export interface AccountsDeps {
  readonly directory: Directory
  readonly ledger: Ledger
  readonly records: Records
  readonly clock: () => number
}

export async function createAccount(body: unknown, { directory, ledger, clock }: AccountsDeps): Promise<AccountView> {
  const { name, group, balance } = read(NEW_ACCOUNT, body)
  const created = await directory.createAccount({ id: `acc_${newHex(10)}`, name, group, createdAt: clock() })
  if (!created) throw conflict(`an account named ${name} exists already`, 'name')
  if (balance > ZERO) {
    const opening = { kind: 'topup', source: 'opening', note: 'opening balance' } as const
    await ledger.deposit({ ...opening, accountId: created.id, amount: balance, at: clock() })
  }
  return viewAccount(await findAccount(created.id, directory))
}

export async function listAccounts(query: URLSearchParams, { directory }: AccountsDeps): Promise<List<AccountView>> {
  const { rows, next } = await directory.accounts(readPage(query))
  return { data: rows.map(viewAccount), next: next ?? null }
}

export const showAccount = async (id: string, { directory }: AccountsDeps): Promise<AccountView> =>
  viewAccount(await findAccount(id, directory))

export const topUp = (id: string, body: unknown, deps: AccountsDeps): Promise<Deposited> =>
  deposit(id, { kind: 'topup', ...read(TOP_UP, body) }, deps)

/** The correction of a mistake, up or down. It says why. */
export const adjust = (id: string, body: unknown, deps: AccountsDeps): Promise<Deposited> =>
  deposit(id, { kind: 'adjustment', ...read(ADJUSTMENT, body) }, deps)

interface Deposited {
  /** False for a source that was applied before: answered with the first entry, and nothing changes. */
  readonly applied: boolean
  readonly entry: DepositView
}

type DepositRequest = Pick<Deposit, 'kind' | 'amount'> & {
  source?: string | undefined
  note?: string | null | undefined
}

async function deposit(
  id: string,
  { kind, amount, source, note }: DepositRequest,
  { directory, ledger, clock }: AccountsDeps,
): Promise<Deposited> {
  const account = await findAccount(id, directory)
  const outcome = await ledger.deposit({
    ...{ kind, accountId: account.id, amount, note: note ?? undefined },
    ...{ source: source ?? `auto-${newHex(10)}`, at: clock() },
  })
  if (outcome.type === 'no-account') throw notFound(`account ${id}`)
  if (outcome.type === 'balance-too-large') throw unprocessable('amount: makes the balance too large', 'amount')
  const view = viewAccount(await findAccount(account.id, directory))
  return { applied: outcome.applied, entry: { ...viewEntry(outcome.entry), account: view } }
}

export async function listEntries(
  id: string,
  query: URLSearchParams,
  { directory, records }: AccountsDeps,
): Promise<List<EntryView>> {
  const page = readPage(query, /^\d{1,15}$/)
  const account = await findAccount(id, directory)
  const { rows, next } = await records.entries(account.id, page)
  return { data: rows.map(viewEntry), next: next ?? null }
}

export async function findAccount(id: string, directory: Directory): Promise<Account> {
  const account = await directory.account(id)
  if (!account) throw notFound(`account ${id}`)
  return account
}

const viewAccount = (account: Account): AccountView => ({
  id: account.id,
  name: account.name,
  group: account.group,
  balance: formatDollars(account.balance),
  held: formatDollars(account.held),
  spent: formatDollars(account.spent),
  created_at: new Date(account.createdAt).toISOString(),
})

export const viewEntry = (entry: Entry): EntryView => ({
  id: String(entry.seq),
  kind: entry.kind,
  amount: formatDollars(entry.amount),
  balance: formatDollars(entry.balance),
  source: entry.source,
  key: entry.keyId ?? null,
  note: entry.note ?? null,
  at: new Date(entry.at).toISOString(),
  hash: entry.hash,
})
