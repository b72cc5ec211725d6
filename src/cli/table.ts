import type { Paint } from './paint.ts'

/** Nothing is a dash. */
type Cell = string | number | null | undefined

export interface Column<Row> {
  readonly title: string
  /** Numbers end under each other; the points of amounts stand under each other. */
  readonly kind?: 'text' | 'number' | 'amount'
  /** A column that is of no use for a row; where that is so for all of them, it is not there. */
  isLeftOut?(row: Row): boolean
  /** The column that gives way where a line would be longer than the terminal is wide. */
  readonly isShortened?: true
  cell(row: Row): Cell
}

const GAP = '  '

/** Columns that line up, for people. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], paint: Paint): string {
  const shown = columns.filter(({ isLeftOut }) => !isLeftOut || rows.some(row => !isLeftOut(row)))
  const fixed = shown.filter(({ isShortened }) => !isShortened).map(column => widthOf(textsOf(column, rows)))
  const room = () => paint.lineWidth() - fixed.reduce((sum, width) => sum + width + GAP.length, 0)
  const laidOut = shown.map(column => {
    const texts = textsOf(column, rows)
    const [title = '', ...cells] = column.isShortened ? shortenAll(texts, room()) : texts
    const width = widthOf([title, ...cells])
    const pad = (text: string) => {
      const spaces = ' '.repeat(width - Bun.stringWidth(text))
      return (column.kind ?? 'text') === 'text' ? text + spaces : spaces + text
    }
    return { title: paint.dim(pad(title)), cells: cells.map(pad) }
  })
  const lines = rows.map((_, place) => laidOut.map(({ cells }) => cells[place]))
  return [laidOut.map(({ title }) => title), ...lines].map(line => line.join(GAP).trimEnd()).join('\n')
}

/** The title first. */
function textsOf<Row>({ title, kind, cell }: Column<Row>, rows: readonly Row[]): string[] {
  const cells = rows.map(row => clean(cell(row)))
  return [title, ...(kind === 'amount' ? samePrecision(cells) : cells)]
}

const widthOf = (texts: readonly string[]): number => Math.max(...texts.map(text => Bun.stringWidth(text)))

/** Less would say nothing: rather a line that is too long. */
const SHORTEST = 24

const shortenAll = (texts: readonly string[], room: number): string[] =>
  texts.map(text => shorten(text, Math.max(SHORTEST, room)))

function shorten(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text
  let short = ''
  for (const character of text) {
    if (Bun.stringWidth(short + character) >= width) break
    short += character
  }
  return `${short}…`
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

/** `1 check`, `2 checks`. */
export const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`

/** A time to the second: more than that is in `--json`. */
export const shortTime = (iso: string | null): string | null => iso?.replace(/\.\d+Z$/, 'Z') ?? null
