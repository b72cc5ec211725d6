import type { List } from '../admin/contract.ts'
import type { Output } from './output.ts'
import { type Column, table } from './table.ts'

export interface RowsLayout<Row> {
  /** In the plural, for the note that there are none. */
  readonly what: string
  id(row: Row): string
  readonly columns: readonly Column<Row>[]
}

/** A list as every command prints it. */
export function rows<Row>(list: List<Row>, { what, id, columns }: RowsLayout<Row>, out: Output): void {
  const { data, next } = list
  if (data.length === 0) out.note(`no ${what}`)
  if (data.length > 0 || out.isJson)
    out.result({ json: list, quiet: data.map(id), text: paint => table(columns, data, paint) })
  if (next !== null) out.note(`there are more ${what}: --limit says how many are shown`)
}
