import type { Random } from './cases.ts'

/** A frame of a vendor's stream, before it has met the vendor's habits. */
export interface VendorFrame {
  readonly event?: string
  readonly data: string
}

export const dataOf = (value: unknown): VendorFrame => ({ data: JSON.stringify(value) })

/** The bytes of a stream with the habits that vendors have: line ends, comments, other fields, several data lines. */
export function streamText(random: Random, frames: readonly VendorFrame[]): string {
  const end = random.pick(['\n', '\n', '\r\n', '\r'])
  const space = random.pick([' ', ' ', ''])
  const isNoisy = random.chance(0.5)
  const noise = () => (isNoisy && random.chance(0.2) ? random.pick(NOISE) : [])
  const lines = frames.flatMap(({ event, data }) => [
    ...noise(),
    ...(event === undefined ? [] : [`event:${space}${event}`]),
    ...linesOf(isNoisy && random.chance(0.2), data).map(line => `data:${space}${line}`),
    '',
  ])
  // The blank line behind the last frame may be forgotten.
  const isWhole = random.chance(0.9)
  return `${random.chance(0.1) ? '\ufeff' : ''}${lines.slice(0, isWhole ? undefined : -1).join(end)}${end}`
}

const NOISE: readonly (readonly string[])[] = [
  [': OPENROUTER PROCESSING', ''],
  [':'],
  ['id: 7'],
  ['retry: 10', ''],
  [''],
]

function linesOf(isSpread: boolean, data: string): string[] {
  return isSpread && data.startsWith('{') ? ['{', data.slice(1, -1), '}'] : [data]
}

const utf8 = new TextEncoder()

/** The same bytes, in the chunks of some network. */
export function chunksOf(random: Random, text: string): Uint8Array[] {
  const bytes = utf8.encode(text)
  const most = random.pick([1, 7, 100, 10_000])
  const chunks: Uint8Array[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = start + random.between(1, most)
    chunks.push(bytes.slice(start, end))
    start = end
  }
  return chunks
}
