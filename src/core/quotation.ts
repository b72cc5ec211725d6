import { isObject } from './ask.ts'

/** So many characters in a row that somebody wrote, found again elsewhere, are a quotation. */
const QUOTED_CHARACTERS_MIN = 12
/** Longer conversations are not searched; what is said about them is then not kept at all. */
const SEARCHED_CHARACTERS_MAX = 262_144

const WITHHELD = 'The upstream refused the request; its words may quote the prompt and are not stored'

/**
 * A vendor's complaint without what it quotes of the conversation: prompts are not stored, and not by this way either.
 * `request` is the caller's JSON.
 */
export function withoutQuotations(message: string, request: string): string {
  if (request.length > SEARCHED_CHARACTERS_MAX) return WITHHELD
  const isQuoted = quotedPlaces(message, textsIn(request))
  let kept = ''
  for (let place = 0; place < message.length; place++) {
    if (!isQuoted[place]) kept += message[place]
    else if (!isQuoted[place - 1]) kept += '…'
  }
  return kept
}

function quotedPlaces(message: string, texts: Iterable<string>): readonly boolean[] {
  const windows = new Map<string, boolean>()
  for (let place = 0; place + QUOTED_CHARACTERS_MIN <= message.length; place++) {
    windows.set(message.slice(place, place + QUOTED_CHARACTERS_MIN), false)
  }
  for (const text of texts) {
    for (let place = 0; place + QUOTED_CHARACTERS_MIN <= text.length; place++) {
      const window = text.slice(place, place + QUOTED_CHARACTERS_MIN)
      if (windows.has(window)) windows.set(window, true)
    }
  }
  const isQuoted = Array<boolean>(message.length).fill(false)
  for (let place = 0; place + QUOTED_CHARACTERS_MIN <= message.length; place++) {
    if (windows.get(message.slice(place, place + QUOTED_CHARACTERS_MIN)))
      isQuoted.fill(true, place, place + QUOTED_CHARACTERS_MIN)
  }
  return isQuoted
}

/** What was said: every text of the conversation and its instructions. */
function* textsIn(request: string): Generator<string> {
  const body: unknown = JSON.parse(request)
  if (isObject(body)) yield* stringsIn([body.messages, body.system])
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) yield* stringsIn(part)
}
