import type { Records } from '../core/records.ts'

const DAY_MS = 86_400_000
/** More models or channels than anyone has. */
const ROWS_MAX = 10_000

export interface Traffic {
  readonly requests: number
  readonly errors: number
}

export interface TrafficDeps {
  readonly records: Records
  readonly clock: () => number
}

/** What reached an upstream in the last 24 hours, for all models or channels at once; whoever has no money is no fault of theirs. */
export async function lastDay(
  by: 'model' | 'channel',
  { records, clock }: TrafficDeps,
  accountId?: string,
): Promise<(name: string) => Traffic> {
  const filter = { from: clock() - DAY_MS, ...(accountId === undefined ? {} : { accountId }) }
  const rows = await records.summary([by], filter, ROWS_MAX)
  const sums = new Map(
    rows.map(({ by: names, requests, errors, refused }) => [
      String(names[by]),
      { requests: requests - refused, errors: errors - refused },
    ]),
  )
  return name => sums.get(name) ?? { requests: 0, errors: 0 }
}
