import type { AccountView } from './accounts.ts'
import type { UsageView } from './usage.ts'

/** What `GET /api/events` sends, as server-sent events with these names. */
export interface EventViews {
  /** First, and whenever something but usage may have changed. */
  readonly hello: { readonly version: string }
  /** New requests, newest last, and the money of the accounts they belong to. */
  readonly usage: { readonly rows: readonly UsageView[]; readonly accounts: readonly AccountView[] }
  /** Nothing has happened: proxies give up on a silent connection. */
  readonly ping: Record<string, never>
  /** The catalog was changed or read again. */
  readonly catalog: Record<string, never>
}
