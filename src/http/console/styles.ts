import { dirname, join } from 'node:path'

/**
 * A style sheet and all it imports, as one. Not by the bundler: for browsers of long ago it spells nesting and logical
 * properties out into rules several times as long, which also win over others that they should not win over.
 */
export async function joinStyles(path: string): Promise<string> {
  return shorten(await withImports(path))
}

async function withImports(path: string): Promise<string> {
  const css = await Bun.file(path).text()
  const parts = css.split(/@import ["'](\.[^"']+)["'];/)
  const joined = parts.map((part, index) => (index % 2 === 0 ? part : withImports(join(dirname(path), part))))
  return (await Promise.all(joined)).join('')
}

/** What only people need goes; the rest is left to compression. */
function shorten(css: string): string {
  return css
    .replace(/\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{}]) ?/g, '$1')
    .replace(/; ?(?=[}]|$)/g, '')
    .replace(/([:;]) /g, '$1')
    .trim()
}
