const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const REQUEST_ID_LETTERS = 24

/** Letters only: agents search error texts for `429` or `503` and retry when an id happens to contain one. */
export function newRequestId(): string {
  let id = ''
  for (const byte of crypto.getRandomValues(new Uint8Array(REQUEST_ID_LETTERS))) id += LETTERS[byte % LETTERS.length]
  return id
}

export const newHex = (bytes: number): string => crypto.getRandomValues(new Uint8Array(bytes)).toHex()

/** 256 random bits in 43 url-safe characters. */
export const newSecret = (): string =>
  crypto.getRandomValues(new Uint8Array(32)).toBase64({ alphabet: 'base64url', omitPadding: true })

export const newApiKey = (): string => `sk-duet-${newSecret()}`
