import type { JsonObject } from '../core/ask.ts'

/** Values that ask for what happens anyway: nothing is lost with them. */
const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  store: ['false'],
  logprobs: ['false'],
  presence_penalty: ['0'],
  frequency_penalty: ['0'],
  modalities: ['["text"]'],
}

/** Members that the vocabulary does not carry. Null counts as absent. */
export function lostMembers(body: JsonObject, carried: ReadonlySet<string>): string[] {
  return Object.keys(body).filter(key => {
    if (carried.has(key)) return false
    const value = body[key]
    if (value === null || value === undefined) return false
    return !(Object.hasOwn(HARMLESS, key) && HARMLESS[key]?.includes(JSON.stringify(value)))
  })
}

/** The names of what is lost, from a table of what may be. */
export function namesOf(lost: Readonly<Record<string, boolean>>): string[] {
  const names: string[] = []
  for (const name in lost) if (lost[name]) names.push(name)
  return names
}
