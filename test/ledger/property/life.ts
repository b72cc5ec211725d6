import type { PriceList } from '../../../src/core/ledger.ts'
import type { Audit } from '../../../src/core/records.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import type { Database } from '../../../src/store/database.ts'
import type { SqlDirectory } from '../../../src/store/directory.ts'
import type { Fault, Point, Toll } from './crashing-database.ts'
import type { Looker } from './look.ts'
import type { Sabotage } from './sabotage.ts'

/** A database as one process has it: that process can die. */
export interface Mortal {
  readonly isDead: boolean
  /** Whether the fault that was armed last has happened. */
  readonly hasFailed: boolean
  /** Where the next process finds what this one leaves behind. */
  readonly remains: string
  arm(fault: Fault | undefined): void
  die(point: Point): void | Promise<void>
  close(): void | Promise<void>
  /** Gives back what a dead process had; nothing is there any more of what it had to itself. */
  bury(): void | Promise<void>
}

/** One process, from its start to its death: what `app.ts` makes of a database, and eyes of our own. */
export interface Life {
  readonly owner: string
  readonly place: string
  readonly db: Mortal
  readonly ledger: Ledger
  readonly directory: SqlDirectory
  readonly prices: PriceList
  readonly audit: Audit
  readonly looker: Looker
  /** Until it is certain that every other process is dead. */
  waitForDeaths(): Promise<void>
}

export interface LifeOptions {
  readonly place: string
  readonly remains: string
  readonly toll: Toll
  readonly owner: string
  readonly clock: () => number
  readonly sabotage: Sabotage | undefined
  /** How much may wait in a log or a journal before it is brought to where it belongs, in pages and in rows. */
  readonly logPagesMax: number
  readonly foldRows: number
  /** What goes wrong while it begins: a process can die of what another one has left. */
  readonly fault: Fault | undefined
}

/** What keeps the books of an epoch. */
export interface Engine {
  /** Whether a settlement is charged that comes after its hold was given back as interrupted: it may come from a survivor. */
  readonly chargesInterrupted: boolean
  /** New books, filled; returns where they are. */
  create(options: { readonly folder: string; readonly number: number; readonly fill: Fill }): Promise<string>
  /** A life, or what is left of one that ended while it began. */
  begin(options: LifeOptions): Promise<Life | Mortal>
}

export type Fill = (db: Database) => Promise<void>

export const isLife = (begun: Life | Mortal): begun is Life => 'ledger' in begun
