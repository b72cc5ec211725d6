import { z } from 'zod'
import { AccountView } from './accounts.ts'
import { count, dollars, time } from './common.ts'
import { LatencyView } from './latency.ts'
import { UsageView } from './usage.ts'

const sums = z.strictObject({
  cost: dollars,
  requests: count,
  errors: count.describe('Failures on the way to an answer.'),
  refused: count.describe(
    'Turned away before they reached an upstream: no money, a cap, an unknown model, a faulty body.',
  ),
})

export const AlertView = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('balance-empty'), account: z.string(), name: z.string(), balance: dollars }),
  z.strictObject({
    kind: z.literal('balance-low'),
    account: z.string(),
    name: z.string(),
    balance: dollars,
    days: z.number().nullable().describe('How long it lasts at the pace of the last seven days; null without spend.'),
  }),
  z.strictObject({ kind: z.literal('key-cap-reached'), key: z.string(), name: z.string(), cap: dollars }),
  z.strictObject({ kind: z.literal('key-near-cap'), key: z.string(), name: z.string(), cap: dollars, spent: dollars }),
  z.strictObject({ kind: z.literal('channel-down'), channel: z.string(), error: z.string().nullable(), since: time }),
  z.strictObject({ kind: z.literal('price-missing'), model: z.string() }),
])
export type AlertView = z.infer<typeof AlertView>

export const SeriesView = z.strictObject({
  id: z.string().describe('Of the model or the key; `other` for all that are not among the first.'),
  name: z.string(),
  cost: z.array(dollars).readonly().describe('One for each time.'),
  requests: z.array(count).readonly(),
  total: dollars,
})
export type SeriesView = z.infer<typeof SeriesView>

export const OverviewView = z.strictObject({
  account: AccountView.nullable().describe('Null where all accounts are shown together.'),
  balance: dollars,
  held: dollars,
  runway_days: z
    .number()
    .nullable()
    .describe('Balance over the daily spend of the last seven days; null without spend.'),
  today: sums,
  days_7: sums,
  days_30: sums,
  latency: LatencyView,
  days: z.enum(['1', '7', '30']).describe('The range of the charts.'),
  times: z.array(time).readonly().describe('The beginning of each hour or day of the charts.'),
  by_model: z.array(SeriesView).readonly(),
  by_key: z.array(SeriesView).readonly(),
  alerts: z.array(AlertView).readonly(),
  recent: z.array(UsageView).readonly(),
  steps: z
    .strictObject({ channel: z.boolean(), key: z.boolean(), request: z.boolean(), cap: z.boolean() })
    .describe('What of the first steps is done: a real upstream, a key of your own, a request, a cap.'),
})
export type OverviewView = z.infer<typeof OverviewView>
