import { z } from 'zod'
import { API_KEY } from '../config/schema.ts'
import { protocol } from './contract/common.ts'

/** Only what a change is found by; the rest is read by the rules of the configuration file. */
export const NAMED_MODEL = z.looseObject({ id: z.string() })
export const NAMED_CHANNEL = z.looseObject({ name: z.string() })

export const CHANNEL_KEY = z.strictObject({ api_key: API_KEY })
export const PAUSED = z.strictObject({ paused: z.boolean() })

export const TRANSLATION = z.strictObject({
  protocol: protocol.describe('Of the caller.'),
  body: z.record(z.string(), z.unknown()).describe('The request as a caller would send it.'),
  channel: z.string().optional().describe('One that would be chosen, if none is named.'),
})

/** For changes: everything may be absent, which leaves it, or null, which takes it back. */
export const nullable = (schema: z.ZodObject): z.ZodType =>
  z.strictObject(Object.fromEntries(Object.entries(schema.shape).map(([name, type]) => [name, z.nullish(type)])))
