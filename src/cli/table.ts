import type { Paint } from './paint.ts'

/** Nothing is a dash. */
type Cell = string | number | null | undefined

export interface Column<Row> {
  readonly title: string
  /** Numbers end under each other; the points of amounts stand under each other. */
  readonly kind?: 'text' | 'number' | 'amount'
  cell(row: Row): Cell
}

const GAP = '  '

/** Columns that line up, for people. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], paint: Paint): string {
  const laidOut = columns.map(({ title, kind = 'text', cell }) => {
    const cells = rows.map(row => clean(cell(row)))
    const texts = kind === 'amount' ? samePrecision(cells) : cells
    const width = Math.max(...[title, ...texts].map(text => Bun.stringWidth(text)))
    const pad = (text: string) => {
      const spaces = ' '.repeat(width - Bun.stringWidth(text))
      return kind === 'text' ? text + spaces : spaces + text
    }
    return { title: paint.dim(pad(title)), cells: texts.map(pad) }
  })
  const lines = rows.map((_, place) => laidOut.map(({ cells }) => cells[place]))
  return [laidOut.map(({ title }) => title), ...lines].map(line => line.join(GAP).trimEnd()).join('\n')
}

/** Names and their values, one a line. */
export function pairs(rows: readonly (readonly [name: string, value: Cell])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}${GAP}${clean(value)}`).join('\n')
}

export const indent = (text: string): string => text.replace(/^(?=.)/gm, GAP)

const NOTHING = '-'

/** Names and notes are whatever somebody typed; none of it may move a cursor. */
export function clean(value: Cell): string {
  if (value === null || value === undefined) return NOTHING
  return String(value).replace(/\p{Cc}/gu, '\uFFFD')
}

/** Zeros at the end, where others have digits: nothing is rounded. */
function samePrecision(amounts: readonly string[]): string[] {
  const decimals = (text: string) => (/^-?\d+\.\d+$/.test(text) ? text.length - text.indexOf('.') - 1 : 0)
  const most = Math.max(0, ...amounts.map(decimals))
  return amounts.map(text => (decimals(text) === 0 ? text : text + '0'.repeat(most - decimals(text))))
}

/** `$12.50`, `-$3.00`. */
export const usd = (amount: string): string => (amount.startsWith('-') ? `-$${amount.slice(1)}` : `$${amount}`)

/** A time to the second: more than that is in `--json`. */
export const shortTime = (iso: string | null): string | null => iso?.replace(/\.\d+Z$/, 'Z') ?? null
