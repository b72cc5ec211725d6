import type { CodeView, List, NewCodeView } from '../admin/contract.ts'
import { CODES_MAX } from '../core/codes.ts'
import { apiOf, apiPath } from './api.ts'
import type { Run } from './command.ts'
import { readCount, readLimit, readMoment } from './read.ts'
import { rows } from './rows.ts'
import { type Column, shortTime, usd } from './table.ts'

/** The codes go out alone, one a line, so that a script can hand them on. */
export const create: Run = async (given, context) => {
  const { out, clock } = context
  const [count, expires] = [given.maybe('count'), given.maybe('expires')]
  const { body } = await apiOf(context).post<List<NewCodeView>>('/codes', {
    amount: given.text('amount'),
    note: given.maybe('note'),
    ...(count ? { count: readCount(count, { option: '--count', max: CODES_MAX }) } : {}),
    ...(expires ? { expires_at: readMoment(expires, { option: '--expires', now: clock(), span: 'ahead' }) } : {}),
  })
  const texts = body.data.map(({ code }) => code)
  out.result({ json: body, quiet: texts, text: () => texts.join('\n') })
  for (const code of body.data) out.note(`${code.id} (${code.hint}): ${usd(code.amount)}${until(code)}`)
  out.note('Codes are shown only this once; whoever has one can redeem it.')
}

const until = ({ expires_at }: CodeView): string => (expires_at === null ? '' : `, until ${shortTime(expires_at)}`)

const columns = (now: number): readonly Column<CodeView>[] => [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'HINT', cell: ({ hint }) => hint },
  { title: 'AMOUNT', kind: 'amount', cell: ({ amount }) => amount },
  { title: 'STATE', cell: code => stateOf(code, now) },
  { title: 'ACCOUNT', cell: ({ account_name }) => account_name },
  { title: 'REDEEMED', cell: ({ redeemed_at }) => shortTime(redeemed_at) },
  { title: 'EXPIRES', cell: ({ expires_at }) => shortTime(expires_at) },
  { title: 'NOTE', cell: ({ note }) => note },
]

function stateOf({ redeemed_at, expires_at }: CodeView, now: number): 'open' | 'redeemed' | 'expired' {
  if (redeemed_at !== null) return 'redeemed'
  return expires_at !== null && Date.parse(expires_at) <= now ? 'expired' : 'open'
}

export const list: Run = async (given, context) => {
  const codes = await apiOf(context).list<CodeView>('/codes', {}, readLimit(given.maybe('limit')))
  rows(codes, { what: 'codes', id: ({ id }) => id, columns: columns(context.clock()) }, context.out)
}

export const revoke: Run = async (given, context) => {
  const id = given.text('code')
  await apiOf(context).delete(apiPath('codes', id))
  // The API answers with nothing, and nothing is not JSON.
  context.out.result({ json: { id, revoked: true }, text: () => `${id} is revoked` })
}
