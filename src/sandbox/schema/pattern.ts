/** A text that a regular expression matches, read off the expression itself; nothing is ever run against it. */
export function sampleOf(pattern: string, { longer, ordinal }: SampleOptions): string | undefined {
  if (pattern.length > PATTERN_LENGTH_MAX) return undefined
  return new PatternReader(pattern, { longer, ordinal }).alternatives()
}

export interface SampleOptions {
  /** How often a repetition that need not end is repeated beyond its least. */
  readonly longer: number
  /** Which character of a class is taken, so that several samples differ. */
  readonly ordinal: number
}

type Range = readonly [from: number, to: number]

const PATTERN_LENGTH_MAX = 500
const SAMPLE_LENGTH_MAX = 10_000
const LOOKAHEAD_LETTERS = 64

const DIGITS: Range = [0x30, 0x39]
const LOWER: Range = [0x61, 0x7a]
const UPPER: Range = [0x41, 0x5a]
const SPACE: Range = [0x20, 0x20]
const DASH: Range = [0x2d, 0x2d]

const CLASSES: { readonly [letter: string]: readonly Range[] | undefined } = {
  d: [DIGITS],
  D: [LOWER],
  w: [LOWER, UPPER, DIGITS],
  W: [DASH],
  s: [SPACE],
  S: [LOWER],
}
const CONTROLS: { readonly [letter: string]: string | undefined } = { n: '\n', r: '\r', t: '\t', b: '', B: '' }
const OUTSIDERS = [...'aA0- _.#~é'].map(letter => letter.codePointAt(0) ?? 0)

class PatternReader {
  readonly #letters: readonly string[]
  readonly #options: SampleOptions
  #at = 0

  constructor(pattern: string, options: SampleOptions) {
    this.#letters = [...pattern]
    this.#options = options
  }

  /** The first alternative is the sample; the others are only read over. */
  alternatives(): string {
    const first = this.#sequence()
    while (this.#take('|')) this.#sequence()
    return first
  }

  #sequence(): string {
    let text = ''
    while (this.#at < this.#letters.length && !this.#sees('|') && !this.#sees(')')) {
      const atom = this.#atom()
      text += atom.repeat(this.#times(SAMPLE_LENGTH_MAX / Math.max(1, atom.length)))
    }
    return text.slice(0, SAMPLE_LENGTH_MAX)
  }

  #atom(): string {
    const letter = this.#next()
    if (letter === '(') return this.#group()
    if (letter === '[') return this.#class()
    if (letter === '\\') return this.#letterOf(this.#escape())
    if (letter === '.') return this.#letterOf([LOWER])
    return letter === '^' || letter === '$' ? '' : letter
  }

  #group(): string {
    const prefix = /^\?(?:[:=!]|<[=!]|<[^>]*>)/.exec(this.#ahead())?.[0] ?? ''
    this.#at += prefix.length
    const text = this.alternatives()
    this.#take(')')
    const asserts = /[=!]$/.test(prefix)
    return asserts ? '' : text
  }

  #class(): string {
    const negated = this.#take('^')
    const ranges: Range[] = []
    while (this.#at < this.#letters.length && !this.#take(']')) ranges.push(...this.#classMember())
    if (!negated) return this.#letterOf(ranges)
    const outsider = OUTSIDERS.find(code => !ranges.some(([from, to]) => code >= from && code <= to))
    return String.fromCodePoint(outsider ?? 0x2603)
  }

  #classMember(): readonly Range[] {
    const from = this.#classRanges()
    const isRange = this.#sees('-') && this.#letters[this.#at + 1] !== ']'
    if (!isRange || from.length !== 1) return from
    this.#next()
    const to = this.#classRanges()
    return [[from[0]?.[0] ?? 0, to[0]?.[1] ?? 0]]
  }

  #classRanges(): readonly Range[] {
    const letter = this.#next()
    return letter === '\\' ? this.#escape() : rangeOf(letter)
  }

  #escape(): readonly Range[] {
    const letter = this.#next()
    if (letter === 'p' || letter === 'P') return this.#property()
    if (letter === 'u' || letter === 'x') return this.#codePoint(letter === 'u' ? 4 : 2)
    if (/[1-9]/.test(letter)) return []
    return CLASSES[letter] ?? rangeOf(CONTROLS[letter] ?? letter)
  }

  #property(): readonly Range[] {
    let name = ''
    if (this.#take('{')) while (!this.#take('}') && this.#at < this.#letters.length) name += this.#next()
    if (/^(N|Nd|Number)$/.test(name)) return [DIGITS]
    return /^(Lu|Uppercase)/.test(name) ? [UPPER] : [LOWER]
  }

  #codePoint(digits: number): readonly Range[] {
    let hex = ''
    if (this.#take('{')) while (!this.#take('}') && this.#at < this.#letters.length) hex += this.#next()
    else while (hex.length < digits && this.#at < this.#letters.length) hex += this.#next()
    const code = Number.parseInt(hex, 16)
    return code <= 0x10ffff ? [[code, code]] : []
  }

  #times(most: number): number {
    const [least, greatest] = this.#bounds()
    this.#take('?')
    return Math.floor(Math.min(Math.max(least, Math.min(greatest, least + this.#options.longer)), most))
  }

  #bounds(): readonly [least: number, greatest: number] {
    if (this.#take('*')) return [0, Infinity]
    if (this.#take('+')) return [1, Infinity]
    if (this.#take('?')) return [0, 1]
    const braces = /^\{(\d+)(,?)(\d*)\}/.exec(this.#ahead())
    if (!braces) return [1, 1]
    this.#at += braces[0].length
    const least = Number(braces[1])
    if (braces[2] === '') return [least, least]
    return [least, braces[3] === '' ? Infinity : Number(braces[3])]
  }

  #letterOf(ranges: readonly Range[]): string {
    const [range] = ranges
    if (range === undefined) return ''
    const [from, to] = range
    return String.fromCodePoint(from + (this.#options.ordinal % Math.max(1, to - from + 1)))
  }

  #ahead(): string {
    return this.#letters.slice(this.#at, this.#at + LOOKAHEAD_LETTERS).join('')
  }

  #sees(letter: string): boolean {
    return this.#letters[this.#at] === letter
  }

  #take(letter: string): boolean {
    if (!this.#sees(letter)) return false
    this.#at++
    return true
  }

  #next(): string {
    return this.#letters[this.#at++] ?? ''
  }
}

function rangeOf(letter: string): readonly Range[] {
  const code = letter.codePointAt(0)
  return code === undefined ? [] : [[code, code]]
}
