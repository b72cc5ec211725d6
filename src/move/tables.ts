/** What a move carries over, in an order in which a row names only rows that are there already. */
export const MOVED_TABLES = [
  'accounts',
  'keys',
  'prices',
  'entries',
  'usage',
  'usage_hours',
  'users',
  'sessions',
  'invites',
  'captures',
  'codes',
  'notices',
  'models',
  'channels',
  'channel_keys',
  'pauses',
  'answers',
] as const

export type MovedTable = (typeof MOVED_TABLES)[number]

/** Has nothing in it when a move begins: holds are settled first, and the journal is sorted into the other tables. */
export const EMPTIED_TABLES = ['holds', 'journal'] as const

/** Filled by the database itself, from what is moved. */
export const DERIVED_TABLES = ['usage_days'] as const

export interface TableCount {
  readonly table: MovedTable
  readonly rows: number
}
