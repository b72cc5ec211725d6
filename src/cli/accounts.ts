import type { AccountView, DepositView, EntryView } from '../admin/contract.ts'
import { apiOf, apiPath } from './api.ts'
import type { Context, Given, Run } from './command.ts'
import { readLimit } from './read.ts'
import { rows } from './rows.ts'
import { type Column, clean, pairs, shortTime, usd } from './table.ts'

export const create: Run = async (given, context) => {
  const wanted = { name: given.text('name'), group: given.maybe('group'), balance: given.maybe('balance') }
  const { body } = await apiOf(context).post<AccountView>('/accounts', wanted)
  context.out.result({
    json: body,
    text: () => `account ${clean(body.name)} created: ${body.id}, balance ${usd(body.balance)}`,
  })
}

const ACCOUNT_COLUMNS: readonly Column<AccountView>[] = [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'GROUP', cell: ({ group }) => group },
  { title: 'BALANCE', kind: 'amount', cell: ({ balance }) => balance },
  { title: 'HELD', kind: 'amount', cell: ({ held }) => held },
  { title: 'SPENT', kind: 'amount', cell: ({ spent }) => spent },
  { title: 'CREATED', cell: ({ created_at }) => shortTime(created_at) },
]

export const list: Run = async (given, context) => {
  const accounts = await apiOf(context).list<AccountView>('/accounts', {}, readLimit(given.maybe('limit')))
  rows(accounts, { what: 'accounts', id: ({ id }) => id, columns: ACCOUNT_COLUMNS }, context.out)
}

export const show: Run = async (given, context) => {
  const account = await apiOf(context).get<AccountView>(apiPath('accounts', given.text('account')))
  const text = () =>
    pairs([
      ['id', account.id],
      ['name', account.name],
      ['group', account.group],
      ['balance', usd(account.balance)],
      ['held', usd(account.held)],
      ['spent', usd(account.spent)],
      ['created', shortTime(account.created_at)],
    ])
  context.out.result({ json: account, quiet: [account.id], text })
}

export const topUp: Run = (given, context) => deposit('topups', given.text('amount'), given, context)

/** Scripts that compute an amount may give it a plus; the API knows it without. */
export const adjust: Run = (given, context) =>
  deposit('adjustments', given.text('amount').replace(/^\+/, ''), given, context)

async function deposit(kind: 'topups' | 'adjustments', amount: string, given: Given, context: Context): Promise<void> {
  const path = apiPath('accounts', given.text('account'), kind)
  const wanted = { amount, source: given.maybe('source'), note: given.maybe('note') }
  const { status, body } = await apiOf(context).post<DepositView>(path, wanted)
  const { account } = body
  const applied = status === 200 ? ' (already applied)' : ''
  const text = () =>
    `entry ${body.id}: ${usd(body.amount)} for ${clean(account.name)}${applied}, balance ${usd(account.balance)}`
  context.out.result({ json: body, text })
}

const ENTRY_COLUMNS: readonly Column<EntryView>[] = [
  { title: 'ENTRY', kind: 'number', cell: ({ id }) => id },
  { title: 'TIME', cell: ({ at }) => shortTime(at) },
  { title: 'KIND', cell: ({ kind }) => kind },
  { title: 'AMOUNT', kind: 'amount', cell: ({ amount }) => amount },
  { title: 'BALANCE', kind: 'amount', cell: ({ balance }) => balance },
  { title: 'SOURCE', cell: ({ source }) => source },
  { title: 'KEY', cell: ({ key }) => key },
  { title: 'NOTE', cell: ({ note }) => note },
]

const ENTRIES_SHOWN = 50

export const entries: Run = async (given, context) => {
  const limit = readLimit(given.maybe('limit'), ENTRIES_SHOWN)
  const path = apiPath('accounts', given.text('account'), 'entries')
  const found = await apiOf(context).list<EntryView>(path, {}, limit)
  rows(found, { what: 'entries', id: ({ id }) => id, columns: ENTRY_COLUMNS }, context.out)
}
