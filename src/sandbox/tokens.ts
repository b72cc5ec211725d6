/** A token is a word with its leading blank, in steps of six characters, or a run of blanks. */
const TOKEN = /\s?\S{1,6}|\s{1,6}/gu

const FILLER_WORDS = [' and', ' so', ' it', ' goes', ' on']

/** JSON may be followed by any amount of blanks and is still the same document. */
const FILLER_BLANKS = [' '.repeat(6)]

export function tokensOf(text: string): readonly string[] {
  return text.match(TOKEN) ?? []
}

/** Counts without keeping the pieces: a prompt can be many megabytes. */
export function countTokens(text: string): number {
  let count = 0
  TOKEN.lastIndex = 0
  while (TOKEN.test(text)) count++
  return count
}

export function resizeText(tokens: readonly string[], size: number): readonly string[] {
  return [...tokens, ...fillers(FILLER_WORDS, size - tokens.length)].slice(0, size)
}

/** A document is never shortened here: half a document is no document. */
export function resizeDocument(tokens: readonly string[], size: number): readonly string[] {
  return [...tokens, ...fillers(FILLER_BLANKS, size - tokens.length)]
}

function fillers(words: readonly string[], count: number): readonly string[] {
  return Array.from({ length: Math.max(0, count) }, (_, at) => words[at % words.length] ?? '')
}
