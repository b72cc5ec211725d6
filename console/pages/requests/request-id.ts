/** As error messages end. */
const IN_MESSAGE = /request[ _-]?id["']?\s*[:=]\s*["']?([\w-]{8,100})/i
/** As Duet makes them: letters only, so that no client takes a part of one for a status. */
const ALONE = /^[\w-]{8,100}$/
const AMONG_WORDS = /\b[a-z]{20,64}\b/

/** The request id in whatever was pasted: the id itself, an error message, or a whole body with one in it. */
export function findRequestId(text: string): string | undefined {
  const trimmed = text.trim()
  return IN_MESSAGE.exec(trimmed)?.[1] ?? ALONE.exec(trimmed)?.[0] ?? AMONG_WORDS.exec(trimmed)?.[0]
}
