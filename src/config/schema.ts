import { z } from 'zod'
import { capabilities } from './capabilities.ts'
import { count, dollars, duration, flag, integer, number } from './values.ts'

/** The shape of `duet.yaml`. Keys that are not here stop the start. */

const price = z.strictObject({
  input: dollars,
  output: dollars,
  cache_read: dollars.optional(),
  cache_write: dollars.optional(),
})

export const MODEL = z.strictObject({
  id: z.string().regex(/^[^/\s]+\/\S+$/, 'must have the form <vendor>/<model>'),
  name: z.string().min(1).optional(),
  description: z.string().optional(),
  price: price.optional(),
  context_length: count.default(128_000),
  max_output_tokens: count.default(8_192),
  images: z.enum(['ignore', 'reject', 'forward']).optional(),
  recommended: flag.default(false),
  reasoning: flag.default(false),
})

const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine(text => !URL.canParse(text) || new URL(text).username === '', 'must not hold a credential; use api_key')
  .refine(text => !/[?#]/.test(text), 'must not have a query or a fragment: paths are appended to it')

/** Longer credentials are files, which no header takes. */
const API_KEY_CHARACTERS_MAX = 4_096

export const API_KEY = z
  .string()
  .min(1)
  .max(API_KEY_CHARACTERS_MAX)
  .regex(/^[\x21-\x7e]+$/, 'must be printable characters without spaces')

export const CHANNEL = z.strictObject({
  name: z
    .string()
    .regex(
      /^\w[\w.-]{0,63}$/,
      'must be up to 64 letters, digits, dots, dashes or underscores, and not begin with a dot or a dash',
    ),
  vendor: z.string().optional(),
  protocol: z.enum(['chat', 'messages']).optional(),
  base_url: baseUrl.optional(),
  api_key: API_KEY.optional(),
  api_keys: z.array(API_KEY).min(1).optional(),
  models: z.union([z.record(z.string(), z.string().min(1)), z.array(z.string())]).optional(),
  priority: integer.default(0),
  weight: number.refine(weight => weight > 0, 'must be above zero').default(1),
  groups: z.array(z.string().min(1)).min(1).default(['default']),
  timeout: z
    .strictObject({
      connect: duration.optional(),
      first_byte: duration.optional(),
      idle: duration.optional(),
      total: duration.optional(),
    })
    .default({}),
  breaker: z
    .union([
      z.literal(false),
      z.strictObject({
        failures: count.optional(),
        cool_down: duration.optional(),
        cool_down_max: duration.optional(),
      }),
    ])
    .default({}),
  capabilities: capabilities.default({}),
})

/** The console can switch a model off; a file leaves it out. */
export const CONSOLE_MODEL = MODEL.extend({ enabled: flag.default(true) })

export const FILE = z.strictObject({
  models: z.array(MODEL).min(1).optional(),
  channels: z.array(CHANNEL).min(1).optional(),
  aliases: z.record(z.string().min(1), z.string()).optional(),
})

export type PriceEntry = z.infer<typeof price>
export type ModelEntry = z.infer<typeof MODEL>
export type ChannelEntry = z.infer<typeof CHANNEL>
export type ConsoleModelEntry = z.infer<typeof CONSOLE_MODEL>
