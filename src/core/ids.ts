const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
/** Enough for milliseconds until the year 2141. */
const TIME_LETTERS = 9
const RANDOM_LETTERS = 15

/**
 * Letters only: agents search error texts for `429` or `503` and retry when an id happens to contain one. The time comes
 * first, so that indexes over millions of ids grow at one end instead of everywhere.
 */
export const newRequestId = (now: number): string => timeLetters(now) + randomLetters()

const REQUEST_ID = new RegExp(`^[a-z]{${TIME_LETTERS + RANDOM_LETTERS}}$`)

/** When the request came that was given this id; undefined for what is no such id. */
export function timeOfRequest(requestId: string): number | undefined {
  if (!REQUEST_ID.test(requestId)) return undefined
  return [...requestId.slice(0, TIME_LETTERS)].reduce(
    (time, letter) => time * LETTERS.length + LETTERS.indexOf(letter),
    0,
  )
}

/** The last time that was asked for, and its letters: requests that come together have most of their ids in common. */
let known = { time: -1, letters: '' }

function timeLetters(time: number): string {
  if (time === known.time) return known.letters
  let letters = ''
  for (let place = 0, rest = time; place < TIME_LETTERS; place++) {
    letters = `${LETTERS[rest % LETTERS.length]}${letters}`
    rest = Math.floor(rest / LETTERS.length)
  }
  known = { time, letters }
  return letters
}

/** Random letters for many ids are made at once: one call for random bytes instead of one for each id. */
const RANDOM_IDS = 256
let stock = ''
let used = 0

function randomLetters(): string {
  if (used === stock.length) {
    const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_IDS * RANDOM_LETTERS))
    stock = Array.from(bytes, byte => LETTERS[byte % LETTERS.length]).join('')
    used = 0
  }
  used += RANDOM_LETTERS
  return stock.slice(used - RANDOM_LETTERS, used)
}

export const newHex = (bytes: number): string => crypto.getRandomValues(new Uint8Array(bytes)).toHex()

/** 256 random bits in 43 url-safe characters. */
export const newSecret = (): string =>
  crypto.getRandomValues(new Uint8Array(32)).toBase64({ alphabet: 'base64url', omitPadding: true })

export const newApiKey = (): string => `sk-duet-${newSecret()}`
