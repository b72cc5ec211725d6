/** A table by the rules of RFC 4180, as a program reads it that believes in them. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = []
  let [row, cell, place]: [string[], string, number] = [[], '', 0]
  while (place < text.length) {
    if (text[place] === '"') {
      for (place++; text[place] !== '"' || text[place + 1] === '"'; place++) {
        if (place >= text.length) throw new Error('a quote is never closed')
        if (text[place] === '"') place++
        cell += text[place]
      }
      place++
    }
    while (place < text.length && !/[,\r\n]/.test(text[place] ?? '')) cell += text[place++]
    row.push(cell)
    cell = ''
    if (text[place] === ',') {
      place++
      continue
    }
    if (text.slice(place, place + 2) !== '\r\n') throw new Error(`a line ends with ${JSON.stringify(text[place])}`)
    rows.push(row)
    row = []
    place += 2
  }
  return rows
}

/** The rows below the names, each as an object. */
export function recordsIn(text: string): Record<string, string>[] {
  const [names = [], ...rows] = parseCsv(text)
  return rows.map(row => {
    if (row.length !== names.length) throw new Error(`${row.length} cells below ${names.length} names`)
    return Object.fromEntries(names.map((name, place) => [name, row[place] ?? '']))
  })
}
