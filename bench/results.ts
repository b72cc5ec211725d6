import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'

const FILE = join(import.meta.dir, 'RESULTS.md')

const INTRODUCTION = `# Measured

Figures of one machine on one day; what can be compared elsewhere are the ratios, taken in the same run.
`

/** Replaces one section of \`RESULTS.md\` and leaves the others as they are. */
export async function writeResults(section: string, lines: readonly string[]): Promise<void> {
  const [begin, end] = [`<!-- ${section} -->`, `<!-- end of ${section} -->`]
  const file = Bun.file(FILE)
  const before = (await file.exists()) ? await file.text() : INTRODUCTION
  const text = [begin, ...lines, end].join('\n')
  const [from, to] = [before.indexOf(begin), before.indexOf(end)]
  const after = from === -1 ? `${before}\n${text}\n` : before.slice(0, from) + text + before.slice(to + end.length)
  await Bun.write(FILE, after)
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** What it was, and how much it had to do in the last quarter of an hour, this program's own work among it. */
export function machine(): string {
  const [first] = cpus()
  const load = (loadavg()[2] ?? 0).toFixed(1)
  const memory = Math.round(totalmem() / 2 ** 30)
  const day = new Date().toISOString().slice(0, 10)
  const system = `${process.platform} ${release().split('-')[0]} ${process.arch}`
  const cores = `${cpus().length} cores of ${first?.model ?? 'unknown'}, ${memory} GB`
  return `${day}, ${cores}, ${system}, Bun ${Bun.version}, load ${load}`
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = 0, high = 0] = sorted.length % 2 === 1 ? [sorted[middle], sorted[middle]] : sorted.slice(middle - 1)
  return (low + high) / 2
}
