import type { Random } from './cases.ts'

const SNIPPETS = [
  'tide',
  ' ',
  '\n\n',
  '\r\n',
  '\t',
  'é',
  'e\u0301',
  '汉字',
  '😀',
  '👩‍👩‍👧',
  '𝒳𝒴',
  '\u0000',
  '\u200f',
  '\ufeff',
  '\\',
  '"',
  '{"a":[1}',
  '<b>&amp;',
  'data: x\n\n',
  'Error: no',
  '0123456789'.repeat(6),
]

export function someText(random: Random, least = 0): string {
  const count = random.between(least, 5)
  return Array.from({ length: count }, () => random.pick(SNIPPETS)).join('')
}

/** In pieces that are never empty; a character of two units may be cut in two. */
export function cut(random: Random, text: string): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length; ) {
    const end = start + random.between(1, random.chance(0.3) ? 2 : 12)
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

const SPACES = ['', '', '', ' ', '\n  ', '\t']
const KEYS = ['a', 'b', '10', '2', 'é', 'a b', '', 'input', '__proto__', '😀']
/** Numbers that no parser brings back as they were, and escapes that no writer would choose. */
const SCALARS = ['12345678901234567890', '-0', '1.50', '1e400', '0.1E-7', 'true', 'false', 'null', '"\\u0041\\/"', '7']

/** The text of a JSON object, as a model may write it. */
export function someArguments(random: Random): string {
  return random.chance(0.15) ? '{}' : objectText(random, 2)
}

function objectText(random: Random, depth: number): string {
  const space = () => random.pick(SPACES)
  const members = Array.from({ length: random.between(0, 3) }, () => {
    const key = JSON.stringify(random.pick(KEYS))
    return `${space()}${key}${space()}:${space()}${valueText(random, depth)}${space()}`
  })
  return `{${members.join(',') || space()}}`
}

function valueText(random: Random, depth: number): string {
  const kind = random.weighted({ scalar: 3, text: 3, object: depth, list: depth })
  switch (kind) {
    case 'scalar':
      return random.pick(SCALARS)
    case 'text':
      return JSON.stringify(someText(random))
    case 'object':
      return objectText(random, depth - 1)
    case 'list':
      return `[${Array.from({ length: random.between(0, 3) }, () => valueText(random, depth - 1)).join(', ')}]`
  }
}

/** Ids that servers of both dialects take as they are. */
export const plainId = (random: Random): string =>
  `${random.pick(['call_', 'toolu_', 'a-', ''])}${random.between(0, 2 ** 31).toString(36)}`

/** Ids that other vendors write. */
export const oddId = (random: Random): string =>
  random.pick(['functions.f:', 'call 1é ', '💡', 'x'.repeat(60), 'a/b+c=']) + random.between(0, 9999)
