import { FAILURES, type Past } from './past.ts'

/** What a view asks of the management API when it is opened, filtered or paged. */
export interface Question {
  readonly view: string
  readonly what: string
  /** With its query; `/events` and files are read until their first part. */
  readonly path: string
  /** Of a list: asked once more, for the page that comes after it. */
  readonly isDeep?: boolean
}

const DAY_MS = 86_400_000

const iso = (time: number): string => new Date(time).toISOString()
function query(filter: Readonly<Record<string, string | number>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(filter)) search.set(name, String(value))
  return search.size === 0 ? '' : `?${search}`
}

const account = (number: number): string => `acc_${String(number).padStart(6, '0')}`
const key = (number: number): string => `key_${String(number).padStart(7, '0')}`
const request = (number: number): string => `request${String(number).padStart(12, '0')}`

/** The first account asks most, the last least; the last key of one asks less than its first. */
export function questionsOf({ rows, accounts, keysPerAccount, from, to }: Past): Question[] {
  const [big, small] = [account(0), account(accounts - 1)]
  const [busyKey, quietKey] = [key(0), key(accounts * keysPerAccount - 1)]
  const middle = from + (to - from) * 0.7
  return [
    ...overview(big, small),
    ...requests({ big, small, busyKey, quietKey, middle, to }),
    { view: 'request', what: 'newest', path: `/usage/${request(rows - 1)}` },
    { view: 'request', what: 'oldest', path: `/usage/${request(0)}` },
    { view: 'request', what: 'there is none', path: `/usage/${request(rows + 1)}` },
    ...keys({ big, busyKey, quietKey }),
    ...billing({ big, small }),
    ...others(),
    ...files({ big, busyKey }),
    ...summaries({ big, small, to }),
  ]
}

const overview = (big: string, small: string): Question[] =>
  ['1', '7', '30'].flatMap(days => [
    { view: 'overview', what: `${days} days, all accounts`, path: `/overview${query({ days })}` },
    { view: 'overview', what: `${days} days, the largest account`, path: `/overview${query({ days, account: big })}` },
    { view: 'overview', what: `${days} days, a small account`, path: `/overview${query({ days, account: small })}` },
  ])

interface Chosen {
  readonly big: string
  readonly small: string
  readonly busyKey: string
  readonly quietKey: string
  readonly middle: number
  readonly to: number
}

function requests({ big, small, busyKey, quietKey, middle, to }: Chosen): Question[] {
  const [failure = ''] = FAILURES
  const filters: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'no filter': {},
    'the last 15 minutes': { from: iso(to - 15 * 60_000) },
    'the last 30 days': { from: iso(to - 30 * DAY_MS) },
    'the largest account': { account: big },
    'a small account': { account: small },
    'a busy key': { key: busyKey },
    'a quiet key': { key: quietKey },
    'a model': { model: 'acme/model-0' },
    'a model that nobody asked for': { model: 'acme/none' },
    'status ok': { status: 'ok' },
    'all failures': { status: 'error' },
    'one failure': { status: failure },
    'a failure that never was': { status: 'never' },
    'a protocol': { protocol: 'messages' },
    'a channel': { channel: 'channel-3' },
    'a channel without requests': { channel: 'none' },
    'an account and a model': { account: big, model: 'acme/model-7' },
    'an account and a model it never asks for': { account: big, model: 'acme/model-19' },
    'an account and its failures': { account: big, status: 'error' },
    'a key and one failure': { key: busyKey, status: failure },
    'a key of another account': { key: busyKey, account: small },
    'a busy key and another protocol': { key: busyKey, protocol: 'messages' },
    'a model and a channel that does not have it': { model: 'acme/model-0', channel: 'channel-3' },
    'everything at once': {
      account: big,
      key: busyKey,
      model: 'acme/model-0',
      status: 'ok',
      protocol: 'chat',
      from: iso(from30(to)),
    },
  }
  return Object.entries(filters).flatMap(([what, filter]): Question[] => {
    const at = { ...filter, ...(filter.from ? {} : { to: iso(middle) }) }
    return [
      { view: 'requests', what, path: `/usage${query({ ...filter, with: 'choices' })}` },
      { view: 'requests', what: `${what}, pages from the middle`, path: `/usage${query(at)}`, isDeep: true },
    ]
  })
}

const from30 = (to: number): number => to - 30 * DAY_MS

const keys = ({ big, busyKey, quietKey }: Pick<Chosen, 'big' | 'busyKey' | 'quietKey'>): Question[] => [
  { view: 'keys', what: 'all', path: `/keys${query({ limit: 100 })}`, isDeep: true },
  { view: 'keys', what: 'of an account', path: `/keys${query({ limit: 100, account: big })}` },
  { view: 'keys', what: 'one', path: `/keys/${busyKey}` },
  { view: 'keys', what: 'latest of a busy one', path: `/usage${query({ key: busyKey, limit: 10 })}` },
  { view: 'keys', what: 'latest of a quiet one', path: `/usage${query({ key: quietKey, limit: 10 })}` },
]

const billing = ({ big, small }: Pick<Chosen, 'big' | 'small'>): Question[] => [
  { view: 'billing', what: 'accounts', path: '/accounts', isDeep: true },
  { view: 'billing', what: 'an account', path: `/accounts/${big}` },
  { view: 'billing', what: 'entries of the largest', path: `/accounts/${big}/entries`, isDeep: true },
  {
    view: 'billing',
    what: 'entries of the largest, far down',
    path: `/accounts/${big}/entries${query({ cursor: 5_000 })}`,
    isDeep: true,
  },
  { view: 'billing', what: 'entries of a small one', path: `/accounts/${small}/entries`, isDeep: true },
  { view: 'billing', what: 'codes', path: '/codes' },
]

const others = (): Question[] => [
  { view: 'people', what: 'users', path: '/users' },
  { view: 'models', what: 'all', path: '/models' },
  { view: 'models', what: 'prices of one', path: `/models/${encodeURIComponent('acme/model-0')}/prices` },
  { view: 'channels', what: 'all', path: '/channels' },
  { view: 'channels', what: 'vendors', path: '/vendors' },
  { view: 'API', what: 'the document', path: '/openapi.json' },
]

/** What comes in parts is there when its first part is. */
const files = ({ big, busyKey }: Pick<Chosen, 'big' | 'busyKey'>): Question[] => [
  { view: 'live', what: 'all accounts', path: '/events' },
  { view: 'live', what: 'the largest account', path: `/events${query({ account: big })}` },
  { view: 'export', what: 'requests', path: '/usage.csv' },
  { view: 'export', what: 'requests of a key', path: `/usage.csv${query({ key: busyKey })}` },
  { view: 'export', what: 'entries', path: `/accounts/${big}/entries.csv` },
]

const DIMENSIONS = [
  '',
  'day',
  'hour',
  'account',
  'key',
  'model',
  'channel',
  'protocol',
  'status',
  'day,model',
  'day,account',
]

/** No view of the console asks for these, but programs do. */
const summaries = ({ big, small, to }: Pick<Chosen, 'big' | 'small' | 'to'>): Question[] =>
  Object.entries({ '24 hours': 1, '7 days': 7, '30 days': 30, 'a year': 365 }).flatMap(([range, days]) => {
    const from = iso(to - days * DAY_MS)
    return [
      ...DIMENSIONS.map(by => ({
        view: 'summary (API)',
        what: `${range} by ${by || 'nothing'}`,
        path: `/usage/summary${query({ by, from })}`,
      })),
      ...Object.entries({ 'the largest account': big, 'a small account': small }).map(([whose, account]) => ({
        view: 'summary (API)',
        what: `${range} by day and model, ${whose}`,
        path: `/usage/summary${query({ by: 'day,model', from, account })}`,
      })),
    ]
  })
