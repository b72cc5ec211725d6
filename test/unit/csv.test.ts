import { describe, expect, test } from 'bun:test'
import { type Cell, csvLines } from '../../src/admin/csv.ts'
import { parseCsv } from '../support/csv.ts'

const COLUMNS = ['first', 'second']

/** All lines of a table whose rows come in pages of two. */
async function written(rows: readonly (readonly Cell[])[], rowsMax = 1_000) {
  const { signal } = new AbortController()
  const read = async (cursor = '0') => {
    const [from, to] = [Number(cursor), Number(cursor) + 2]
    return { rows: rows.slice(from, to), next: to < rows.length ? String(to) : undefined }
  }
  let text = ''
  for await (const part of csvLines({ columns: COLUMNS, read, cells: async rows => rows, signal }, rowsMax))
    text += part
  return text
}

describe('a cell', () => {
  for (const text of ['plain', 'a,b', 'say "hi"', '"', 'two\nlines', 'two\r\nlines', '', ' spaces ', 'ünï', "it's"]) {
    test(`${JSON.stringify(text)} is read as it was written`, async () => {
      expect(parseCsv(await written([[text, 'x']]))).toEqual([COLUMNS, [text, 'x']])
    })
  }

  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '=HYPERLINK("http://x","y")']) {
    test(`${JSON.stringify(text)} is text, and no formula`, async () => {
      expect(parseCsv(await written([[text, 'x']]))).toEqual([COLUMNS, [`'${text}`, 'x']])
    })
  }

  test('an amount, a number and a yes are what they are, whatever their sign; nothing is an empty cell', async () => {
    const text = await written([
      [{ amount: '-0.000000001' }, -7],
      [true, null],
    ])
    expect(text).toBe('first,second\r\n-0.000000001,-7\r\ntrue,\r\n')
  })
})

describe('a table', () => {
  const rowsOf = (count: number): Cell[][] => Array.from({ length: count }, (_, place) => [place, 'x'])

  for (const count of [0, 1, 2, 3, 4, 5]) {
    test(`of ${count} rows in pages of two has a line of names and each row once`, async () => {
      const rows = rowsOf(count).map(row => row.map(String))
      expect(parseCsv(await written(rowsOf(count)))).toEqual([COLUMNS, ...rows])
    })

    test(`of ${count} rows is whole where just as many may be`, async () => {
      expect(parseCsv(await written(rowsOf(count), Math.max(count, 1)))).toHaveLength(count + 1)
    })
  }

  for (const rowsMax of [1, 2, 3, 4]) {
    test(`of five rows, of which ${rowsMax} may be, ends with a line that says so`, async () => {
      const lines = parseCsv(await written(rowsOf(5), rowsMax))
      expect(lines.slice(1, -1)).toEqual(rowsOf(rowsMax).map(row => row.map(String)))
      expect(lines.at(-1)).toEqual([expect.stringContaining(`after ${rowsMax} rows`), ''])
    })
  }

  test('breaks off when nobody waits for it, instead of ending like one that is whole', async () => {
    const leaving = new AbortController()
    const read = async () => {
      leaving.abort()
      return { rows: rowsOf(2), next: 'more' }
    }
    const table = { columns: COLUMNS, read, cells: async (rows: readonly Cell[][]) => rows, signal: leaving.signal }
    const lines = csvLines(table, 1_000)
    expect(await lines.next()).toMatchObject({ done: false, value: 'first,second\r\n' })
    expect(await lines.next()).toMatchObject({ done: false, value: '0,x\r\n1,x\r\n' })
    await expect(lines.next()).rejects.toThrow()
  })
})
