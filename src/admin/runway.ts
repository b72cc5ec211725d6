import { formatDollars, type Nanos, ZERO } from '../core/money.ts'

/** What was spent of late, and in how much time. */
export interface Pace {
  readonly spent: Nanos
  readonly days: number
}

/** How long a balance lasts at this pace, to a tenth of a day; null where nothing is spent. A guess, so numbers will do. */
export function runwayDays(balance: Nanos, { spent, days }: Pace): number | null {
  if (spent <= ZERO) return null
  const dollarsADay = Number(formatDollars(spent)) / days
  return Math.max(0, Math.round((Number(formatDollars(balance)) / dollarsADay) * 10) / 10)
}
