import type { KeyView, NewKeyView } from '../admin/contract.ts'
import { CONCURRENT_MAX, PER_MINUTE_MAX } from '../core/directory.ts'
import { formatDollars, nanos, parseDollars, ZERO } from '../core/money.ts'
import { apiOf, apiPath } from './api.ts'
import type { Context, Given, Run } from './command.ts'
import { failure, wrongUsage } from './failure.ts'
import { readCount, readLimit, readMoment, readNames } from './read.ts'
import { rows } from './rows.ts'
import { type Column, clean, pairs, shortTime, usd } from './table.ts'

/** The secret goes out alone, so that `KEY=$(duet keys create ...)` holds it and nothing else. */
export const create: Run = async (given, context) => {
  const { out, clock } = context
  const expires = given.maybe('expires')
  const models = given.maybe('models')
  const { body } = await apiOf(context).post<NewKeyView>('/keys', {
    name: given.text('name'),
    account: given.maybe('account') ?? 'default',
    cap: given.maybe('cap'),
    ...(expires ? { expires_at: readMoment(expires, { option: '--expires', now: clock(), span: 'ahead' }) } : {}),
    ...(models ? { models: readNames(models) } : {}),
    ...paceOf(given),
  })
  out.result({ json: body, quiet: [body.key], text: () => body.key })
  out.note(`key ${body.id} (${clean(body.name)}) of account ${body.account}: ${limitsOf(body)}`)
  out.note('Its secret is shown only this once.')
}

const limitsOf = (key: KeyView): string => {
  const { cap, expires_at, models } = key
  return [
    cap === null ? 'no cap' : `cap ${usd(cap)}`,
    ...pacesOf(key),
    ...(expires_at === null ? [] : [`expires ${shortTime(expires_at)}`]),
    ...(models === null ? [] : [`for ${models.join(', ')} only`]),
  ].join(', ')
}

const pacesOf = ({ max_concurrent, max_per_minute }: KeyView): string[] => [
  ...(max_concurrent === null ? [] : [`${max_concurrent} at once`]),
  ...(max_per_minute === null ? [] : [`${max_per_minute} a minute`]),
]

const columns = (now: number): readonly Column<KeyView>[] => [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'ACCOUNT', cell: ({ account }) => account },
  { title: 'HINT', cell: ({ hint }) => hint },
  { title: 'CAP', kind: 'amount', cell: ({ cap }) => cap },
  { title: 'SPENT', kind: 'amount', cell: ({ spent }) => spent },
  { title: 'REMAINING', kind: 'amount', cell: ({ remaining }) => remaining },
  { title: 'LIMITS', isLeftOut: key => pacesOf(key).length === 0, cell: key => pacesOf(key).join(', ') || null },
  { title: 'STATE', cell: key => stateOf(key, now) },
  { title: 'LAST USED', cell: ({ last_used_at }) => shortTime(last_used_at) },
]

export const list: Run = async (given, context) => {
  const filter = { account: given.maybe('account') }
  const keys = await apiOf(context).list<KeyView>('/keys', filter, readLimit(given.maybe('limit')))
  rows(keys, { what: 'keys', id: ({ id }) => id, columns: columns(context.clock()) }, context.out)
}

function stateOf({ enabled, expires_at }: KeyView, now: number): 'enabled' | 'disabled' | 'expired' {
  if (!enabled) return 'disabled'
  return expires_at !== null && Date.parse(expires_at) <= now ? 'expired' : 'enabled'
}

export const show: Run = async (given, context) => {
  const key = await apiOf(context).get<KeyView>(apiPath('keys', given.text('key')))
  const text = () =>
    pairs([
      ['id', key.id],
      ['name', key.name],
      ['account', key.account],
      ['hint', key.hint],
      ['state', stateOf(key, context.clock())],
      ['cap', key.cap === null ? 'none' : usd(key.cap)],
      ['spent', usd(key.spent)],
      ['remaining', key.remaining === null ? 'no limit' : usd(key.remaining)],
      ['at once', key.max_concurrent === null ? 'no limit' : String(key.max_concurrent)],
      ['per minute', key.max_per_minute === null ? 'no limit' : String(key.max_per_minute)],
      ['models', key.models === null ? 'all' : key.models.join(', ')],
      ['expires', key.expires_at === null ? 'never' : shortTime(key.expires_at)],
      ['last used', key.last_used_at === null ? 'never' : shortTime(key.last_used_at)],
      ['created', shortTime(key.created_at)],
    ])
  context.out.result({ json: key, quiet: [key.id], text })
}

export const cap: Run = async (given, context) => {
  const api = apiOf(context)
  const path = apiPath('keys', given.text('key'))
  const wanted = await newCap(given.text('cap'), () => api.get<KeyView>(path))
  const key = await api.patch<KeyView>(path, { cap: wanted })
  context.out.result({ json: key, text: () => `${key.id}: ${money(key)}` })
}

const money = ({ cap, spent, remaining }: KeyView): string =>
  cap === null || remaining === null
    ? `no cap, spent ${usd(spent)}`
    : `cap ${usd(cap)}, spent ${usd(spent)}, remaining ${usd(remaining)}`

/** Null for none; with a sign, it is counted from what the cap is now. */
async function newCap(text: string, current: () => Promise<KeyView>): Promise<string | null> {
  if (text === 'none') return null
  const [, sign = '', size = ''] = /^([+-]?)(.*)$/.exec(text) ?? []
  const amount = parseDollars(size)
  if (amount === undefined || amount < ZERO) {
    throw wrongUsage(`<cap>: must be +10, -2, 50 or none, in dollars with at most nine decimals, not "${text}"`)
  }
  if (sign === '') return formatDollars(amount)
  const key = await current()
  const before = key.cap === null ? undefined : parseDollars(key.cap)
  if (before === undefined) throw failure(`${key.id} has no cap to count from; set one: duet keys cap ${key.id} 10`)
  const after = nanos(sign === '+' ? before + amount : before - amount)
  if (after < ZERO) throw failure(`${key.id} has a cap of ${usd(formatDollars(before))}; it cannot go below zero`)
  return formatDollars(after)
}

export const limits: Run = async (given, context) => {
  const wanted = paceOf(given)
  if (Object.keys(wanted).length === 0) {
    throw wrongUsage('--max-concurrent or --max-per-minute is missing: a number, or none')
  }
  const key = await apiOf(context).patch<KeyView>(apiPath('keys', given.text('key')), wanted)
  context.out.result({ json: key, text: () => `${key.id}: ${pace(key)}` })
}

const pace = ({ max_concurrent, max_per_minute }: KeyView): string =>
  `requests at once ${max_concurrent ?? 'without limit'}, per minute ${max_per_minute ?? 'without limit'}`

/** What was given of it, as the API wants it; null for none. */
function paceOf(given: Given): Partial<Pick<KeyView, 'max_concurrent' | 'max_per_minute'>> {
  const [concurrent, perMinute] = [given.maybe('max-concurrent'), given.maybe('max-per-minute')]
  return {
    ...(concurrent === undefined ? {} : { max_concurrent: readCountOrNone(concurrent, CONCURRENT) }),
    ...(perMinute === undefined ? {} : { max_per_minute: readCountOrNone(perMinute, PER_MINUTE) }),
  }
}

const CONCURRENT = { option: '--max-concurrent', max: CONCURRENT_MAX }
const PER_MINUTE = { option: '--max-per-minute', max: PER_MINUTE_MAX }

const readCountOrNone = (text: string, wanted: typeof CONCURRENT): number | null =>
  text === 'none' ? null : readCount(text, wanted)

export const enable: Run = (given, context) => setEnabled(true, given.text('key'), context)

export const disable: Run = (given, context) => setEnabled(false, given.text('key'), context)

async function setEnabled(enabled: boolean, id: string, context: Context): Promise<void> {
  const key = await apiOf(context).patch<KeyView>(apiPath('keys', id), { enabled })
  context.out.result({ json: key, text: () => `${key.id} (${clean(key.name)}) is ${stateOf(key, context.clock())}` })
}

export const revoke: Run = async (given, context) => {
  const id = given.text('key')
  await apiOf(context).delete(apiPath('keys', id))
  // The API answers with nothing, and nothing is not JSON.
  context.out.result({ json: { id, revoked: true }, text: () => `${id} is revoked` })
}
