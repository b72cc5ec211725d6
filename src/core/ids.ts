const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
/** Enough for milliseconds until the year 2141. */
const TIME_LETTERS = 9
const RANDOM_LETTERS = 15

/**
 * Letters only: agents search error texts for `429` or `503` and retry when an id happens to contain one. The time comes
 * first, so that indexes over millions of ids grow at one end instead of everywhere.
 */
export function newRequestId(now: number): string {
  let id = ''
  for (let place = 0, rest = now; place < TIME_LETTERS; place++) {
    id = `${LETTERS[rest % LETTERS.length]}${id}`
    rest = Math.floor(rest / LETTERS.length)
  }
  for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_LETTERS))) id += LETTERS[byte % LETTERS.length]
  return id
}

export const newHex = (bytes: number): string => crypto.getRandomValues(new Uint8Array(bytes)).toHex()

/** 256 random bits in 43 url-safe characters. */
export const newSecret = (): string =>
  crypto.getRandomValues(new Uint8Array(32)).toBase64({ alphabet: 'base64url', omitPadding: true })

export const newApiKey = (): string => `sk-duet-${newSecret()}`
