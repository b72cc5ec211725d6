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

const model = z.strictObject({
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

const apiKey = z
  .string()
  .min(1)
  .regex(/^[\x21-\x7e]+$/, 'must be printable characters without spaces')

const channel = z.strictObject({
  name: z.string().regex(/^[\w.-]{1,64}$/, 'must be up to 64 letters, digits, dots, dashes or underscores'),
  vendor: z.string().optional(),
  protocol: z.enum(['chat', 'messages']).optional(),
  base_url: baseUrl.optional(),
  api_key: apiKey.optional(),
  api_keys: z.array(apiKey).min(1).optional(),
  models: z.union([z.record(z.string(), z.string().min(1)), z.array(z.string())]).optional(),
  priority: integer.default(0),
  weight: number.refine(weight => weight > 0, 'must be above zero').default(1),
  groups: z.array(z.string().min(1)).min(1).default(['default']),
  timeout: z
    .strictObject({ connect: duration.optional(), first_byte: duration.optional(), idle: duration.optional() })
    .default({}),
  capabilities: capabilities.default({}),
})

export const FILE = z.strictObject({
  models: z.array(model).min(1).optional(),
  channels: z.array(channel).min(1).optional(),
  aliases: z.record(z.string().min(1), z.string()).optional(),
})

export type PriceEntry = z.infer<typeof price>
export type ModelEntry = z.infer<typeof model>
export type ChannelEntry = z.infer<typeof channel>
