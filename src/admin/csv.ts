import type { Page } from '../core/directory.ts'
import { endOfTurn } from '../core/turns.ts'

/** A cell: text, a number, or nothing. Amounts are exact decimals, so they come as `{ amount }` and not as numbers. */
export type Cell = string | number | boolean | null | { readonly amount: string }

/** One line, as RFC 4180 has it. */
const csvLine = (cells: readonly Cell[]): string => `${cells.map(csvCell).join(',')}\r\n`

function csvCell(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'object') return cell.amount
  return typeof cell === 'string' ? quoted(harmless(cell)) : String(cell)
}

/** Tables take text for a formula that begins like one, and names of keys and models come from anybody. */
const harmless = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** A table that is read page by page. */
export interface CsvTable<Row> {
  readonly columns: readonly string[]
  readonly read: (cursor: string | undefined) => Promise<Page<Row>>
  readonly cells: (rows: readonly Row[]) => Promise<readonly (readonly Cell[])[]>
  /** Aborted when nobody waits for the rest. */
  readonly signal: AbortSignal
}

/** A line of names, the rows, and if there are more than may be, a line that says so. */
export async function* csvLines<Row>(table: CsvTable<Row>, rowsMax: number): AsyncGenerator<string> {
  const { columns, read, cells, signal } = table
  yield csvLine(columns)
  let cursor: string | undefined
  for (let left = rowsMax; ; await endOfTurn()) {
    // A file that just ends would look whole: the connection breaks instead.
    signal.throwIfAborted()
    const { rows, next } = await read(cursor)
    const shown = rows.slice(0, left)
    if (shown.length > 0) yield (await cells(shown)).map(csvLine).join('')
    left -= shown.length
    if (shown.length < rows.length || (left === 0 && next !== undefined)) {
      const note = `This file ends here, after ${rowsMax} rows: choose a shorter time to have the rest.`
      yield csvLine([note, ...columns.slice(1).map(() => null)])
      return
    }
    if (next === undefined) return
    cursor = next
  }
}
