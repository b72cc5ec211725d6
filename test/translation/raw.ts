import type { JsonBody } from '../support/duet.ts'

/** JSON in which `{"$raw": text}` stands for a value that no parser may touch. */
export function rawJson(value: JsonBody): string {
  return JSON.stringify(value).replace(/\{"\$raw":("(?:[^"\\]|\\.)*")\}/g, (_, text) => JSON.parse(text))
}
