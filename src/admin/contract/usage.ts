import { z } from 'zod'
import { EntryView } from './accounts.ts'
import { PriceView } from './catalog.ts'
import { count, dollars, list, milliseconds, protocol, time } from './common.ts'

export const TokensView = z.strictObject({
  input: count,
  cache_read: count,
  cache_write: count,
  output: count,
  reasoning: count.describe('A part of `output`.'),
})
export type TokensView = z.infer<typeof TokensView>

const source = z
  .enum(['upstream', 'counted', 'estimated'])
  .describe('Where the numbers come from: the upstream, our count of what was relayed, or an estimate.')

export const UsageView = z
  .strictObject({
    request_id: z.string(),
    account: z.string(),
    key: z.string(),
    key_name: z.string(),
    model: z.string(),
    channel: z.string().describe('Empty for members, and for requests that were refused before a channel was chosen.'),
    protocol,
    upstream_protocol: protocol,
    stream: z.boolean(),
    status: z
      .string()
      .describe('`ok`, or the code of what ended the request: `client_gone`, `pre_consume_token_quota_failed`, ...'),
    ending: z
      .string()
      .nullable()
      .describe(
        'Why the answer ended: `stop`, `length`, `tool-calls`, ..., `funds` if the money was used up, `ceiling` if the ' +
          'caller wanted to spend no more (`x-duet-max-cost`).',
      ),
    tokens: TokensView,
    source,
    cost: dollars,
    started_at: time,
    first_byte_ms: milliseconds.nullable(),
    duration_ms: milliseconds,
    attempts: count.describe('Upstreams that were asked, one after the other; none for what was refused before.'),
  })
  .describe('One request.')
export type UsageView = z.infer<typeof UsageView>

export const UsageList = list(UsageView).extend({
  choices: z
    .strictObject({
      keys: z.array(z.strictObject({ id: z.string(), name: z.string() })).readonly(),
      models: z.array(z.string()).readonly(),
      channels: z.array(z.string()).readonly().describe('Empty for members.'),
    })
    .optional()
    .describe('What can be filtered by, with `with=choices`.'),
})
export type UsageList = z.infer<typeof UsageList>

export const BillLineView = z.strictObject({
  class: z.enum(['input', 'cache_read', 'cache_write', 'output']),
  tokens: count,
  price: dollars.describe('Per million tokens.'),
  amount: dollars.describe('Exact, before the one rounding.'),
})
export type BillLineView = z.infer<typeof BillLineView>

export const AttemptView = z
  .strictObject({
    channel: z.string().describe('Empty for members.'),
    key: z
      .string()
      .describe('The id of the vendor key; empty for members, without a key, and where there was one attempt only.'),
    protocol,
    status: z.string().describe('`ok`, or the code of the failure.'),
    error: z.string().nullable().describe('Why it failed, in a sentence.'),
    start_ms: milliseconds.describe('Since the request came.'),
    first_byte_ms: milliseconds.nullable().describe('Since the attempt began; null where nothing came.'),
    duration_ms: milliseconds,
  })
  .describe('One try of one upstream.')
export type AttemptView = z.infer<typeof AttemptView>

export const ReceiptView = z
  .strictObject({
    hold: z.strictObject({
      amount: dollars,
      returned: dollars.describe('What of the hold came back; below zero if more was used than held.'),
    }),
    tokens: TokensView.extend({ source }),
    price: PriceView.extend({ version: count, since: time })
      .nullable()
      .describe('The version the charge was made with; null where nothing was priced.'),
    arithmetic: z.strictObject({
      lines: z.array(BillLineView).readonly(),
      sum: dollars.describe('Of all lines, exact.'),
      rounding: dollars.describe('What the one rounding, upwards to a billionth of a dollar, added.'),
      total: dollars,
    }),
    entry: EntryView.nullable().describe('The ledger entry that charged it; null where nothing was charged.'),
    attempts: z.array(AttemptView).readonly(),
    timings: z.strictObject({
      started_at: time,
      first_byte_ms: milliseconds.nullable(),
      duration_ms: milliseconds,
      ended_at: time,
    }),
  })
  .describe('Everything that explains a bill.')
export type ReceiptView = z.infer<typeof ReceiptView>

export const CaptureView = z
  .strictObject({
    request: z.string().describe('The body as it was received, up to a limit.'),
    response: z.string().describe('The body or the frames as they were sent, up to a limit.'),
    is_cut: z.boolean().describe('The limit was reached, and the rest is not here.'),
    expires_at: time,
  })
  .describe('What was asked and answered, of keys that store it.')
export type CaptureView = z.infer<typeof CaptureView>

export const UsageReceiptView = UsageView.extend({
  receipt: ReceiptView,
  error: z.string().nullable().describe('What the caller was told, in full; null where nothing went wrong.'),
  capture: CaptureView.nullable(),
})
export type UsageReceiptView = z.infer<typeof UsageReceiptView>

// ── sums ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const SUMMARY_DIMENSION_NAMES = [
  'day',
  'hour',
  'account',
  'key',
  'model',
  'channel',
  'protocol',
  'status',
] as const
export type SummaryDimensionName = (typeof SUMMARY_DIMENSION_NAMES)[number]

const Sums = z.strictObject({ requests: count, errors: count, tokens: TokensView, cost: dollars })

export const SummaryView = Sums.extend({
  day: z.string().optional().describe('`2026-11-15`'),
  hour: time.optional(),
  account: z.string().optional(),
  key: z.string().optional(),
  model: z.string().optional(),
  channel: z.string().optional(),
  protocol: z.string().optional(),
  status: z.string().optional(),
}).describe('Each dimension that was asked for is a member; others are absent.')
export type SummaryView = z.infer<typeof SummaryView>

export const SummaryList = list(SummaryView).extend({
  from: time.nullable().describe('The range that was summed: the one asked for, widened to whole hours.'),
  to: time.nullable(),
  total: Sums,
})
export type SummaryList = z.infer<typeof SummaryList>
