import type { AttemptView, BillLineView, ReceiptView, UsageReceiptView, UsageView } from '../admin/contract.ts'
import type { Paint } from './paint.ts'
import { type Column, indent, pairs, shortTime, table, usd } from './table.ts'

/** Everything that explains a bill, from the hold to the entry. Of what was sent nowhere there is none. */
export function receiptText(usage: UsageReceiptView, paint: Paint): string {
  const title = `Request ${usage.request_id}`
  const sections: Section[] = wasSentNowhere(usage)
    ? [[title, refusal(usage)]]
    : [[title, about(usage)], ...bill(usage, paint)]
  return sections.map(([title, body]) => `${paint.bold(title)}\n${indent(body)}`).join('\n\n')
}

const wasSentNowhere = ({ attempts, receipt: { hold, entry } }: UsageReceiptView): boolean =>
  attempts === 0 && entry === null && Number(hold.amount) === 0

type Section = readonly [title: string, body: string]

function bill({ receipt }: UsageReceiptView, paint: Paint): Section[] {
  return [
    ['Hold', hold(receipt)],
    ['Tokens', tokens(receipt)],
    [priceTitle(receipt), arithmetic(receipt, paint)],
    ['Entry', entry(receipt)],
    ['Attempts', attempts(receipt, paint)],
    ['Timings', timings(receipt)],
  ]
}

const refusal = ({ status, error, model, protocol, account, key, receipt: { timings } }: UsageReceiptView): string =>
  pairs([
    ['status', `${status}: it was sent to no upstream, and nothing was charged`],
    ...(error === null ? [] : [['error', error] as const]),
    ...(model === '' ? [] : [['model', model] as const]),
    ['protocol', protocol],
    ['account', account],
    ['key', key],
    ['time', `${timings.started_at}, for ${timings.duration_ms} ms`],
  ])

const about = (usage: UsageReceiptView): string =>
  pairs([
    ['status', usage.ending === null ? usage.status : `${usage.status}, ended by ${usage.ending}`],
    ...(usage.error === null ? [] : [['error', usage.error] as const]),
    ['model', usage.model],
    ['channel', usage.channel || 'none'],
    ['protocol', `${usage.protocol} to ${usage.upstream_protocol}, ${usage.stream ? 'streamed' : 'whole'}`],
    ['account', usage.account],
    ['key', usage.key],
  ])

const hold = ({ hold: { amount, returned } }: ReceiptView): string =>
  pairs([
    ['held', usd(amount)],
    returned.startsWith('-') ? ['used beyond the hold', usd(returned.slice(1))] : ['given back', usd(returned)],
  ])

const SOURCES: Record<UsageView['source'], string> = {
  upstream: 'upstream: as the upstream counted them',
  counted: 'counted: by us, from what was relayed',
  estimated: 'estimated: by us, from the request',
}

const tokens = ({ tokens }: ReceiptView): string =>
  pairs([
    ['input', tokens.input],
    ['cache read', tokens.cache_read],
    ['cache write', tokens.cache_write],
    ['output', tokens.reasoning > 0 ? `${tokens.output}, of which reasoning ${tokens.reasoning}` : tokens.output],
    ['source', SOURCES[tokens.source]],
  ])

const priceTitle = ({ price }: ReceiptView): string =>
  price
    ? `Price version ${price.version}, in force since ${shortTime(price.since)}`
    : 'Price from before prices had versions'

const CLASSES: Record<BillLineView['class'], string> = {
  input: 'input',
  cache_read: 'cache read',
  cache_write: 'cache write',
  output: 'output',
}

interface BillLine {
  readonly name: string
  /** Sums have none. */
  readonly tokens: number | ''
  readonly price: string
  readonly amount: string
}

/** Line by line, as one would check it by hand: tokens times price makes the amount, and one rounding makes the total. */
function arithmetic({ arithmetic: { lines, sum, rounding, total } }: ReceiptView, paint: Paint): string {
  const bill: BillLine[] = [
    ...lines.map(({ class: name, tokens, price, amount }) => ({ name: CLASSES[name], tokens, price, amount })),
    ...(lines.length === 0 ? [] : [sumLine('sum', sum), sumLine('rounding', rounding)]),
    sumLine('total', total),
  ]
  return table<BillLine>(
    [
      { title: '', cell: ({ name }) => name },
      { title: 'TOKENS', kind: 'number', cell: ({ tokens }) => tokens },
      { title: '$ PER MILLION', kind: 'amount', cell: ({ price }) => price },
      { title: '$', kind: 'amount', cell: ({ amount }) => amount },
    ],
    bill,
    paint,
  )
}

const sumLine = (name: string, amount: string): BillLine => ({ name, tokens: '', price: '', amount })

function entry({ entry }: ReceiptView): string {
  if (!entry) return 'none: nothing was charged'
  return pairs([
    ['number', entry.id],
    ['amount', usd(entry.amount)],
    ['balance after', usd(entry.balance)],
    ['time', shortTime(entry.at)],
    ['hash', entry.hash],
  ])
}

const ATTEMPT_COLUMNS: readonly Column<AttemptView>[] = [
  { title: 'CHANNEL', cell: ({ channel }) => channel },
  { title: 'PROTOCOL', cell: ({ protocol }) => protocol },
  { title: 'STATUS', cell: ({ status }) => status },
  { title: 'FIRST BYTE MS', kind: 'number', cell: ({ first_byte_ms }) => first_byte_ms },
  { title: 'MS', kind: 'number', cell: ({ duration_ms }) => duration_ms },
]

/** Of a single one, all this is said of the request. */
const SEVERAL_COLUMNS: readonly Column<AttemptView>[] = [
  { title: 'START MS', kind: 'number', cell: ({ start_ms }) => start_ms },
  { title: 'KEY', cell: ({ key }) => key || null },
  { title: 'ERROR', cell: ({ error }) => error },
]

const attempts = ({ attempts }: ReceiptView, paint: Paint): string =>
  table([...ATTEMPT_COLUMNS, ...(attempts.length > 1 ? SEVERAL_COLUMNS : [])], attempts, paint)

const timings = ({ timings }: ReceiptView): string =>
  pairs([
    ['started', timings.started_at],
    ['first byte', timings.first_byte_ms === null ? 'none' : `after ${timings.first_byte_ms} ms`],
    ['ended', `${timings.ended_at}, after ${timings.duration_ms} ms`],
  ])
