import type { Directory } from './directory.ts'
import type { LedgerStore, PriceList } from './ledger.ts'
import type { Audit, Records } from './records.ts'

/** What the rest of the house expects of a store. Only `app.ts` knows which store it is. */
export interface Store {
  readonly ledger: LedgerStore
  readonly prices: PriceList
  readonly directory: Directory
  readonly records: Records
  readonly audit: Audit
  close(): void
}
