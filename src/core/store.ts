import type { Captures } from './captures.ts'
import type { Codes } from './codes.ts'
import type { Directory } from './directory.ts'
import type { LedgerStore, PriceList } from './ledger.ts'
import type { ManagedStore } from './managed.ts'
import type { Notices } from './notices.ts'
import type { People } from './people.ts'
import type { Audit, Records } from './records.ts'
import type { Answers } from './repeats.ts'
import type { Replicas } from './replicas.ts'
import type { Standing } from './standing.ts'
import type { Upkeep } from './upkeep.ts'

/** The store cannot be asked now, whatever was asked. Whether what was asked of it last has happened, nobody knows. */
export class StoreUnavailable extends Error {}

export interface BusyOptions extends ErrorOptions {
  readonly accountIds?: Iterable<string>
}

/**
 * The store is there, and others can be served: it gave up on this one thing, because somebody else had locked it or because it
 * took too long. Nothing has happened.
 */
export class StoreBusy extends StoreUnavailable {
  /** Whose rows somebody else has locked, as far as that is known. */
  readonly accountIds: ReadonlySet<string>

  constructor(message: string, { accountIds = [], ...options }: BusyOptions = {}) {
    super(message, options)
    this.accountIds = new Set(accountIds)
  }
}

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
  /** Undefined where one process has the store to itself. */
  readonly replicas?: ((owner: string) => Replicas) | undefined
  readonly upkeep?: Upkeep | undefined
  close(): Promise<void>
}
