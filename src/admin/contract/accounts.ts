import { z } from 'zod'
import { count, dollars, list, time } from './common.ts'

export const AccountView = z.strictObject({
  id: z.string(),
  name: z.string(),
  group: z.string(),
  balance: dollars,
  held: dollars.describe('Taken for calls under way; given back, but for what they cost, when they end.'),
  spent: dollars,
  created_at: time,
})
export type AccountView = z.infer<typeof AccountView>

export const EntryView = z
  .strictObject({
    id: z.string().describe('Counted for each account from 1, without gaps.'),
    kind: z.enum(['topup', 'charge', 'adjustment']),
    amount: dollars,
    balance: dollars.describe('After this entry.'),
    source: z.string(),
    key: z.string().nullable(),
    note: z.string().nullable(),
    at: time,
    hash: z.string().describe('Over this entry and the hash of the one before it.'),
  })
  .describe('One change of a balance.')
export type EntryView = z.infer<typeof EntryView>

export const EntryList = list(EntryView).extend({ account: AccountView })
export type EntryList = z.infer<typeof EntryList>

export const DepositView = EntryView.extend({ account: AccountView.describe('After it.') })
export type DepositView = z.infer<typeof DepositView>

// ── redemption codes ────────────────────────────────────────────────────────────────────────────────────────────────

export const CodeView = z
  .strictObject({
    id: z.string(),
    hint: z.string().describe('Enough of the code to recognise it.'),
    amount: dollars,
    note: z.string().nullable(),
    created_at: time,
    expires_at: time.nullable(),
    redeemed_at: time.nullable(),
    account: z.string().nullable().describe('Whose balance it went to.'),
    account_name: z.string().nullable(),
  })
  .describe('Money in an envelope: whoever has the code puts it on their account, once.')
export type CodeView = z.infer<typeof CodeView>

export const NewCodeView = CodeView.extend({ code: z.string().describe('The only time it is shown.') })
export type NewCodeView = z.infer<typeof NewCodeView>

// ── notices ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export const NoticeView = z
  .strictObject({
    threshold: dollars.describe('A balance below this is told.'),
    url: z.string(),
    told_at: time.nullable().describe('When it was last told; null since the balance was last above the threshold.'),
    failures: count.describe('Deliveries in a row that did not arrive.'),
    error: z.string().nullable(),
  })
  .describe('A webhook that is called once whenever the balance falls below a threshold.')
export type NoticeView = z.infer<typeof NoticeView>

export const NewNoticeView = NoticeView.extend({
  secret: z.string().describe('Signs deliveries (`x-duet-signature`); shown only this once.'),
})
export type NewNoticeView = z.infer<typeof NewNoticeView>

export const NoticeTestView = z.strictObject({
  ok: z.boolean(),
  status: z.int().nullable(),
  error: z.string().nullable(),
})
export type NoticeTestView = z.infer<typeof NoticeTestView>
