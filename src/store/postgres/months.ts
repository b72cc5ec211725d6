/** The calendar of what is kept by the month, in UTC. */

export interface Month {
  /** As in the names of tables: `2026_11`. */
  readonly name: string
  readonly from: number
  /** Where the next one begins. */
  readonly to: number
}

export const monthOf = (time: number): Month => monthFrom(new Date(time).getUTCFullYear(), new Date(time).getUTCMonth())

/** So many months later, or earlier. */
export function monthsLater(month: Month, count: number): Month {
  const from = new Date(month.from)
  return monthFrom(from.getUTCFullYear(), from.getUTCMonth() + count)
}

/** From the month of one time to that of another. */
export function monthsBetween(from: number, to: number): Month[] {
  const months: Month[] = []
  for (let month = monthOf(from); month.from <= to; month = monthsLater(month, 1)) months.push(month)
  return months
}

const NAME = /_(\d{4})_(\d{2})$/

/** Undefined for a table that is not one month's. */
export function monthOfTable(table: string): Month | undefined {
  const [, year, month] = NAME.exec(table) ?? []
  return year === undefined ? undefined : monthFrom(Number(year), Number(month) - 1)
}

function monthFrom(year: number, month: number): Month {
  const [from, to] = [Date.UTC(year, month), Date.UTC(year, month + 1)]
  const begin = new Date(from)
  const number = String(begin.getUTCMonth() + 1).padStart(2, '0')
  return { name: `${begin.getUTCFullYear()}_${number}`, from, to }
}
