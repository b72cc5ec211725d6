import { z } from 'zod'
import { count, dollars, list, milliseconds, protocol, time } from './common.ts'
import { LatencyView } from './latency.ts'

export const origin = z
  .enum(['file', 'environment', 'builtin', 'sandbox', 'console'])
  .describe('Who defines it. What the console defines can be changed here; what a file defines is changed there.')
export type Origin = z.infer<typeof origin>

const settings = z.record(z.string(), z.unknown()).nullable()

/** Of the last 24 hours. */
const traffic = z.strictObject({ requests: count, errors: count })

// ── models ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export const PriceView = z
  .strictObject({ input: dollars, output: dollars, cache_read: dollars, cache_write: dollars })
  .describe('Dollars per million tokens.')
export type PriceView = z.infer<typeof PriceView>

export const ModelView = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  price: PriceView.extend({ version: count })
    .nullable()
    .describe('In force now; null for a model that nobody has priced, which is refused.'),
  context_length: count,
  max_output_tokens: count,
  images: z.enum(['ignore', 'reject', 'forward']),
  recommended: z.boolean(),
  reasoning: z.boolean(),
  channels: z.array(z.string()).readonly().describe('Those that serve it; empty for members.'),
  origin,
  enabled: z.boolean().describe('False for one that the console has switched off: it is not listed and not served.'),
  overrides: z.boolean().describe('The console has changed a built-in model; deleting the change brings it back.'),
  shadows: z.boolean().describe('The console defines it, too, and that is not in force: a file goes before it.'),
  settings: settings.describe(
    'What the console says of it, in the words of the file; null if nothing, and for members.',
  ),
  last_day: traffic,
})
export type ModelView = z.infer<typeof ModelView>

export const PriceVersionView = PriceView.extend({ version: count, since: time })
export type PriceVersionView = z.infer<typeof PriceVersionView>

// ── channels ────────────────────────────────────────────────────────────────────────────────────────────────────────

export const HealthView = LatencyView.extend({
  state: z.enum(['unused', 'healthy', 'degraded', 'down', 'paused']).describe('From live traffic since the start.'),
  requests: count.describe('Of the latest ones that are remembered.'),
  errors: count,
  last_ok_at: time.nullable(),
  last_error_at: time.nullable(),
  last_error: z.string().nullable(),
  down_since: time.nullable(),
  breaker: z
    .enum(['closed', 'open', 'half-open'])
    .describe('`open`: it is left alone for a while. `half-open`: the next request finds out whether it is back.'),
  rests_until: time.nullable().describe('The end of the while; null unless `breaker` is `open`.'),
  refused: z.boolean().describe('The vendor refused the credential: 401, 402 or 403.'),
})
export type HealthView = z.infer<typeof HealthView>

export const ChannelKeyView = z
  .strictObject({ id: z.string(), hint: z.string(), paused: z.boolean(), health: HealthView })
  .describe('A vendor credential. It can be set and removed, never read.')
export type ChannelKeyView = z.infer<typeof ChannelKeyView>

export const ChannelView = z.strictObject({
  name: z.string(),
  origin,
  vendor: z.string().nullable(),
  protocol,
  base_url: z.string(),
  models: z.record(z.string(), z.string()).describe('Catalog id: the name this upstream knows.'),
  capabilities: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .describe('What each model of it can be given, by catalog id.'),
  priority: z.number(),
  weight: z.number(),
  groups: z.array(z.string()).readonly(),
  timeout: z.strictObject({
    connect_ms: milliseconds,
    first_byte_ms: milliseconds,
    idle_ms: milliseconds,
    total_ms: milliseconds,
  }),
  breaker: z
    .strictObject({ failures: count, cool_down_ms: milliseconds, cool_down_max_ms: milliseconds })
    .nullable()
    .describe('When it is left alone for a while; null for one that is always asked.'),
  paused: z.boolean(),
  shadows: z
    .boolean()
    .describe('The console has a channel of this name, which is not in force: this one goes before it.'),
  settings: settings.describe('What the console says of it, in the words of the file, without keys; null if nothing.'),
  keys: z.array(ChannelKeyView).readonly(),
  health: HealthView,
  last_day: traffic,
})
export type ChannelView = z.infer<typeof ChannelView>

export const ChannelList = list(ChannelView)

export const VendorView = z
  .strictObject({
    name: z.string(),
    protocol,
    base_url: z.string(),
    keyless: z.boolean(),
    models: z
      .array(z.string())
      .readonly()
      .describe('Of the catalog, those that such a channel serves if it names none.'),
  })
  .describe('A preset: what a channel of this vendor need not say.')
export type VendorView = z.infer<typeof VendorView>

export const ChannelAttemptView = z.strictObject({
  client: protocol,
  upstream: protocol,
  key: z.string().nullable().describe('The id of the key that was used; null for an upstream without keys.'),
  ok: z.boolean(),
  duration_ms: milliseconds,
  request: z
    .record(z.string(), z.unknown())
    .describe('What the upstream was sent, translated if need be; no credential is in it.'),
  answer: z.string().nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
})
export type ChannelAttemptView = z.infer<typeof ChannelAttemptView>

export const ChannelTestView = z
  .strictObject({
    channel: z.string(),
    model: z.string(),
    ok: z.boolean().describe('Every attempt was answered.'),
    attempts: z.array(ChannelAttemptView).readonly(),
  })
  .describe('One tiny call for each protocol that callers speak, outside all accounts.')
export type ChannelTestView = z.infer<typeof ChannelTestView>

export const TranslationView = z
  .strictObject({
    channel: z.string(),
    protocol: protocol.describe('Of the caller.'),
    upstream_protocol: protocol,
    is_passed_on: z.boolean().describe("The same protocol: the caller's own text with named edits."),
    request: z.record(z.string(), z.unknown()),
    dropped: z.array(z.string()).readonly(),
  })
  .describe('What an upstream would be sent for a request.')
export type TranslationView = z.infer<typeof TranslationView>

export const ReloadView = z.strictObject({ models: count, channels: count })
export type ReloadView = z.infer<typeof ReloadView>
