import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-codes.ts'

/** Follows JSON text that comes in fragments and tells when its first value is complete. */
export class JsonProgress {
  private depth = 0
  private inString = false
  private escaped = false
  complete = false

  /** Returns the part of the fragment that still belongs to the value; what follows a complete value is noise. */
  accept(fragment: string): string {
    if (this.complete) return ''
    for (let cursor = 0; cursor < fragment.length; cursor++) {
      this.step(fragment.charCodeAt(cursor))
      if (this.complete) return fragment.slice(0, cursor + 1)
    }
    return fragment
  }

  private step(code: number): void {
    if (this.inString) this.stepString(code)
    else if (code === QUOTE) this.inString = true
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) this.depth++
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) this.complete = --this.depth <= 0
  }

  private stepString(code: number): void {
    if (this.escaped) this.escaped = false
    else if (code === BACKSLASH) this.escaped = true
    else if (code === QUOTE) this.inString = false
  }
}

/** A string, a string that is cut, a sign, a number or a word. */
const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")|".*$|[{}[\],:]|[^\s{}[\],:"]+/gs

/** The beginning of a JSON text that was cut, closed behind the last value that is complete. */
export function closeJson(text: string): string {
  const open: string[] = []
  let end = 0
  let before = ''
  for (const { 0: token, 1: string, index } of text.matchAll(TOKEN)) {
    const isCut = token.startsWith('"') && string === undefined
    if (isCut) break
    const isKey = open.at(-1) === '}' && (before === '{' || before === ',')
    if (token === '{') open.push('}')
    if (token === '[') open.push(']')
    if (token === '}' || token === ']') open.pop()
    const after = index + token.length
    if (isBracket(token) || (!isKey && isWhole(token, after < text.length))) end = after
    before = token
  }
  return text.slice(0, end) + open.toReversed().join('')
}

const isBracket = (token: string): boolean => /^[{}[\]]$/.test(token)

/** A number at the very end may go on; a word of the language may not. */
const isWhole = (token: string, isFollowed: boolean): boolean =>
  /^"|^(true|false|null)$/.test(token) || (isFollowed && /\d$/.test(token))

/** Whether a value that begins here is an object; undefined where there is nothing but blanks yet. */
export function beginsObject(text: string): boolean | undefined {
  const [first] = text.trimStart()
  return first === undefined ? undefined : first === '{'
}
