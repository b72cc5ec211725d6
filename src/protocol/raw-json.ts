import { invalid } from '../core/failure.ts'
import { newHex } from '../core/ids.ts'

/** Unknown to everybody outside, for whoever knew it could write raw JSON into a request. */
const MARK = `raw-${newHex(16)}-`
const MARKED = new RegExp(`"${MARK}[^"\\\\]*(?:\\\\.[^"\\\\]*)*"`, 'g')

/**
 * Stands for JSON text inside a value that is about to be written by `stringify`, where it appears as it is. A string with
 * a mark, because `JSON.stringify` copies nothing verbatim and is several times slower with objects that have a say in it.
 */
export const rawJson = (text: string): string => MARK + text

/** `JSON.stringify`, with every `rawJson` inside copied verbatim. */
export function stringify(value: unknown): string {
  try {
    const text = JSON.stringify(value)
    return text.includes(MARK)
      ? text.replace(MARKED, quoted => wellFormed(JSON.parse(quoted).slice(MARK.length)))
      : text
  } catch (error) {
    // Only the stack can run out: nothing here is circular.
    if (error instanceof RangeError) throw invalid('body', 'is nested too deeply')
    throw error
  }
}

/** Half a character has no bytes of its own; in JSON text it can stand inside a string only, where an escape says it. */
const wellFormed = (text: string): string =>
  text.isWellFormed() ? text : text.replace(/\p{Surrogate}/gu, half => JSON.stringify(half).slice(1, -1))
