import { z } from 'zod'
import { count, dollars } from './common.ts'

export const ProblemView = z
  .strictObject({
    table: z.enum(['entries', 'accounts', 'keys', 'usage', 'usage_hours']),
    row: z.string().describe('Its account and number, or its id.'),
    problem: z.string(),
    expected: z.string(),
    found: z.string(),
  })
  .describe('The first row that does not fit.')
export type ProblemView = z.infer<typeof ProblemView>

export const VerifyView = z.strictObject({
  ok: z.boolean(),
  accounts: count,
  entries: count,
  charges: count,
  unpriced: count.describe('Charges from before prices had versions: chained and summed, but not computed again.'),
  usage: count,
  open_holds: count,
  balance: dollars,
  problem: ProblemView.nullable(),
  heads: z
    .record(z.string(), z.string())
    .describe("The hash of each account's last entry: whoever keeps it elsewhere can tell if the end was cut off."),
})
export type VerifyView = z.infer<typeof VerifyView>

export const VerifyProgressView = z
  .strictObject({ checked: count, total: count })
  .describe('A line of a verification under way, for those who accept NDJSON; the last line is the result.')
export type VerifyProgressView = z.infer<typeof VerifyProgressView>
