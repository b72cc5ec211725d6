import { z } from 'zod'
import { count, dollars, time } from './common.ts'

export const KeyView = z.strictObject({
  id: z.string(),
  account: z.string(),
  account_name: z.string(),
  name: z.string(),
  hint: z.string().describe('Enough of the secret to recognise it.'),
  cap: dollars.nullable().describe('What this key may spend at most; null for no limit but the balance.'),
  spent: dollars,
  held: dollars.describe('Taken for calls under way.'),
  remaining: dollars.nullable().describe('Of the cap.'),
  models: z.array(z.string()).readonly().nullable().describe('Those it may call; null for all.'),
  expires_at: time.nullable(),
  enabled: z.boolean(),
  status: z.enum(['active', 'cap-reached', 'expired', 'disabled']),
  keep_days: count
    .nullable()
    .describe('Prompts and answers of this key are stored for so many days; null: not at all.'),
  max_concurrent: count
    .nullable()
    .describe('Requests under way at once, beyond which callers get 429; null: no limit.'),
  max_per_minute: count.nullable().describe('Requests in any minute, beyond which callers get 429; null: no limit.'),
  created_at: time,
  last_used_at: time.nullable(),
})
export type KeyView = z.infer<typeof KeyView>

export const NewKeyView = KeyView.extend({ key: z.string().describe('The secret: the only time it is shown.') })
export type NewKeyView = z.infer<typeof NewKeyView>

export const PlaygroundKeyView = z
  .strictObject({ id: z.string(), key: z.string(), cap: dollars, expires_at: time })
  .describe('A key for an hour, with a small cap, for calls from the console; billed like any other.')
export type PlaygroundKeyView = z.infer<typeof PlaygroundKeyView>
