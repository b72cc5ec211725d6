import type { Outcome } from '../rounds.ts'
import type { Column } from '../workloads/workload.ts'
import { addedOf, figureOf, ratioOf, type Spread } from './figures.ts'

/** Whom everyone is compared with, if they took part. */
const COMPARED_WITH = ['nginx', 'bare', 'portkey']

export function tableOf(outcome: Outcome): string[] {
  const { workload, entrants } = outcome
  const others = workload.ratios === undefined ? [] : [...COMPARED_WITH, ...otherDuets(entrants)]
  const present = others.filter(name => entrants.includes(name))
  // What nobody has is no column.
  const columns = workload.columns.filter(column => entrants.some(entrant => columnOf(outcome, entrant, column)))
  const headings = ['', ...columns.map(({ heading }) => heading), ...present.map(name => `x ${name}`)]
  const rows = entrants.map(entrant => [
    entrant,
    ...columns.map(column => cell(columnOf(outcome, entrant, column), column.digits)),
    ...present.map(other => ratioCell(comparison(outcome, entrant, other))),
  ])
  const rule = headings.map((_, place) => (place === 0 ? '---' : '---:'))
  return [headings, rule, ...rows].map(row => `| ${row.join(' | ')} |`)
}

const columnOf = (outcome: Outcome, entrant: string, { figure, isOverDirect }: Column): Spread | undefined =>
  (isOverDirect ? addedOf : figureOf)(outcome, entrant, figure)

/** With another Duet, one that translates is compared as it translates. */
function comparison(outcome: Outcome, entrant: string, other: string): Spread | undefined {
  const how = other.startsWith('duet') ? entrant.replace(/^\S+/, '') : ''
  return ratioOf(outcome, [entrant, other + how], outcome.workload.ratios ?? '')
}

/** Whatever a run was made to compare: another checkout, or PostgreSQL with the embedded database. */
function otherDuets(entrants: readonly string[]): string[] {
  const others = entrants.filter(name => /^duet-\S+$/.test(name))
  return others.some(name => name.startsWith('duet-postgres')) ? ['duet'] : others
}

const ratioCell = (spread: Spread | undefined): string => cell(spread, spread && spread.median >= 10 ? 1 : 2)

function cell(spread: Spread | undefined, digits = 0): string {
  if (!spread) return '–'
  const write = (value: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  const [middle, low, high] = [spread.median, spread.low, spread.high].map(write)
  return low === high ? `${middle}` : `${middle} (${low} to ${high})`
}
