import { newHex } from '../core/ids.ts'
import { dollars, formatDollars, ZERO } from '../core/money.ts'
import type { Account, Directory, Entry } from '../core/ports.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AccountView, EntryView, List } from './contract.ts'
import { conflict, notFound, unprocessable } from './failure.ts'
import { NEW_ACCOUNT, read, readPage, TOP_UP } from './input.ts'

/** A billion dollars: sums stay far from the limits of a 64-bit column. */
const BALANCE_MAX = dollars(1_000_000_000)

export interface AccountsDeps {
  readonly directory: Directory
  readonly ledger: Ledger
  readonly clock: () => number
}

export async function createAccount(body: unknown, { directory, ledger, clock }: AccountsDeps): Promise<AccountView> {
  const { name, group, balance } = read(NEW_ACCOUNT, body)
  const created = await directory.createAccount({ id: `acc_${newHex(10)}`, name, group, createdAt: clock() })
  if (!created) throw conflict(`an account named ${name} exists already`, 'name')
  if (balance > ZERO) {
    await ledger.topUp({
      accountId: created.id,
      amount: balance,
      source: 'opening',
      note: 'opening balance',
      at: clock(),
    })
  }
  return viewAccount(await findAccount(created.id, directory))
}

export async function listAccounts(query: URLSearchParams, { directory }: AccountsDeps): Promise<List<AccountView>> {
  const { rows, next } = await directory.accounts(readPage(query))
  return { data: rows.map(viewAccount), next: next ?? null }
}

export const showAccount = async (id: string, { directory }: AccountsDeps): Promise<AccountView> =>
  viewAccount(await findAccount(id, directory))

/** The same source again is answered with the first entry, and changes nothing. */
export async function topUp(
  id: string,
  body: unknown,
  { directory, ledger, clock }: AccountsDeps,
): Promise<{ readonly applied: boolean; readonly entry: EntryView & { account: AccountView } }> {
  const { amount, source, note } = read(TOP_UP, body)
  const account = await findAccount(id, directory)
  if (account.balance + amount > BALANCE_MAX) throw unprocessable('amount: the balance would be too large', 'amount')
  const request = { accountId: account.id, amount, source: source ?? `auto-${newHex(10)}`, note: note ?? undefined }
  const outcome = await ledger.topUp({ ...request, at: clock() })
  if (!outcome) throw notFound(`account ${id}`)
  const after = viewAccount(await findAccount(account.id, directory))
  return { applied: outcome.applied, entry: { ...viewEntry(outcome.entry), account: after } }
}

export async function listEntries(
  id: string,
  query: URLSearchParams,
  { directory }: AccountsDeps,
): Promise<List<EntryView>> {
  const page = readPage(query)
  if (page.cursor !== undefined && !/^\d{1,15}$/.test(page.cursor))
    throw unprocessable('cursor: is not valid', 'cursor')
  const account = await findAccount(id, directory)
  const { rows, next } = await directory.entries(account.id, page)
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

const viewEntry = (entry: Entry): EntryView => ({
  id: String(entry.id),
  kind: entry.kind,
  amount: formatDollars(entry.amount),
  balance: formatDollars(entry.balance),
  source: entry.source,
  key: entry.keyId ?? null,
  note: entry.note ?? null,
  at: new Date(entry.at).toISOString(),
})
