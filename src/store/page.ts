import type { Page } from '../core/directory.ts'

/** One row more than asked for tells whether there is a next page. */
export function page<Row, T>(
  rows: readonly Row[],
  limit: number,
  { map, cursorOf }: { map: (row: Row) => T; cursorOf: (row: Row) => string },
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { rows: shown.map(map), next: rows.length > limit && last !== undefined ? cursorOf(last) : undefined }
}
