import type { Captures } from './captures.ts'
import type { Codes } from './codes.ts'
import type { Directory } from './directory.ts'
import type { LedgerStore, PriceList } from './ledger.ts'
import type { ManagedStore } from './managed.ts'
import type { Notices } from './notices.ts'
import type { People } from './people.ts'
import type { Audit, Records } from './records.ts'
import type { Answers } from './repeats.ts'
import type { Standing } from './standing.ts'

/** What the rest of the house expects of a store. Only `app.ts` knows which store it is. */
export interface Store {
  readonly ledger: LedgerStore
  readonly prices: PriceList
  readonly directory: Directory
  readonly people: People
  readonly codes: Codes
  readonly notices: Notices
  readonly managed: ManagedStore
  readonly records: Records
  readonly standing: Standing
  readonly captures: Captures
  readonly answers: Answers
  readonly audit: Audit
  close(): void
}
