import type { Account, Directory } from '../core/directory.ts'
import { newHex } from '../core/ids.ts'
import type { Deposit, Entry } from '../core/ledger.ts'
import { formatDollars, ZERO } from '../core/money.ts'
import type { Records } from '../core/records.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { list } from './contract/common.ts'
import { AccountView, DepositView, EntryList, type EntryView } from './contract.ts'
import { conflict, notFound, unprocessable } from './failure.ts'
import { ADJUSTMENT, NEW_ACCOUNT, read, readPage, TOP_UP } from './input.ts'
import { type Actor, type AdminReply, confinedTo, created, maySee, ok, PAGED, type Routes } from './route.ts'

export interface AccountsDeps {
  readonly directory: Directory
  readonly ledger: Ledger
  readonly records: Records
  readonly clock: () => number
}

async function createAccount(body: unknown, { directory, ledger, clock }: AccountsDeps): Promise<AccountView> {
  const { name, group, balance } = read(NEW_ACCOUNT, body)
  const created = await directory.createAccount({ id: `acc_${newHex(10)}`, name, group, createdAt: clock() })
  if (!created) throw conflict(`an account named ${name} exists already`, 'name')
  if (balance > ZERO) {
    const opening = { kind: 'topup', source: 'opening', note: 'opening balance' } as const
    await ledger.deposit({ ...opening, accountId: created.id, amount: balance, at: clock() })
  }
  return viewAccount(await findAccount(created.id, directory))
}

async function listAccounts(query: URLSearchParams, actor: Actor, { directory }: AccountsDeps) {
  const own = confinedTo(actor)
  const account = own === undefined ? undefined : await directory.account(own)
  if (own !== undefined) return { data: account ? [viewAccount(account)] : [], next: null }
  const { rows, next } = await directory.accounts(readPage(query))
  return { data: rows.map(viewAccount), next: next ?? null }
}

const topUp = (id: string, body: unknown, deps: AccountsDeps): Promise<Deposited> =>
  deposit(id, { kind: 'topup', ...read(TOP_UP, body) }, deps)

/** The correction of a mistake, up or down. It says why. */
const adjust = (id: string, body: unknown, deps: AccountsDeps): Promise<Deposited> =>
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

async function listEntries(account: Account, query: URLSearchParams, { records }: AccountsDeps): Promise<EntryList> {
  const { rows, next } = await records.entries(account.id, readPage(query, /^\d{1,15}$/))
  return { data: rows.map(viewEntry), next: next ?? null, account: viewAccount(account) }
}

/** By id or name; an account that is not the actor's is as good as not there. */
export async function accountFor(actor: Actor, id: string, directory: Directory): Promise<Account> {
  const account = await directory.account(id)
  if (!account || !maySee(actor, account.id)) throw notFound(`account ${id}`)
  return account
}

async function findAccount(id: string, directory: Directory): Promise<Account> {
  const account = await directory.account(id)
  if (!account) throw notFound(`account ${id}`)
  return account
}

export const viewAccount = (account: Account): AccountView => ({
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

const deposited = ({ applied, entry }: Deposited): AdminReply => ({ status: applied ? 201 : 200, body: entry })

export const accountRoutes: Routes<AccountsDeps> = {
  'POST /accounts': {
    access: 'admin',
    summary: 'Make an account',
    body: NEW_ACCOUNT,
    answers: { 201: AccountView },
    errors: [409],
    handle: async ({ json, deps }) => created(await createAccount(await json(), deps)),
  },
  'GET /accounts': {
    access: 'member',
    summary: 'List accounts',
    query: PAGED,
    answers: { 200: list(AccountView) },
    handle: async ({ call, actor, deps }) => ok(await listAccounts(call.query, actor, deps)),
  },
  'GET /accounts/*': {
    access: 'member',
    summary: 'Show an account, by id or name',
    answers: { 200: AccountView },
    handle: async ({ ids: [id = ''], actor, deps }) => ok(viewAccount(await accountFor(actor, id, deps.directory))),
  },
  'POST /accounts/*/topups': {
    access: 'admin',
    summary: 'Add money; the same source again is applied once and answered with 200',
    body: TOP_UP,
    answers: { 201: DepositView, 200: DepositView },
    handle: async ({ ids: [id = ''], json, deps }) => deposited(await topUp(id, await json(), deps)),
  },
  'POST /accounts/*/adjustments': {
    access: 'admin',
    summary: 'Correct a balance, up or down, and say why',
    body: ADJUSTMENT,
    answers: { 201: DepositView, 200: DepositView },
    handle: async ({ ids: [id = ''], json, deps }) => deposited(await adjust(id, await json(), deps)),
  },
  'GET /accounts/*/entries': {
    access: 'member',
    summary: 'The ledger of an account, newest first, with the balance after each entry',
    query: PAGED,
    answers: { 200: EntryList },
    handle: async ({ ids: [id = ''], call, actor, deps }) =>
      ok(await listEntries(await accountFor(actor, id, deps.directory), call.query, deps)),
  },
}
