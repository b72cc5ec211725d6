import { isObject } from './ask.ts'

/** So many characters in a row that somebody wrote, found again elsewhere, are a quotation. */
const QUOTED_CHARACTERS_MIN = 12
/** Scripts that have a character for a word say in these what others say in a line. */
const QUOTED_SIGNS_MIN = 5
const SIGNS_ONLY = /^\P{ASCII}+$/u
/** Longer conversations are not searched; what is said about them is then not kept at all. */
const SEARCHED_CHARACTERS_MAX = 262_144

const WITHHELD = 'The upstream refused the request; its words may quote the prompt and are not stored'

/**
 * A vendor's complaint without what it quotes of the conversation: prompts are not stored, and not by this way either.
 * `request` is the caller's JSON.
 */
export function withoutQuotations(message: string, request: string): string {
  if (request.length > SEARCHED_CHARACTERS_MAX) return WITHHELD
  const texts = [...textsIn(request)]
  const isQuoted = Array<boolean>(message.length).fill(false)
  markQuoted(isQuoted, { message, texts, length: QUOTED_CHARACTERS_MIN, counts: () => true })
  markQuoted(isQuoted, { message, texts, length: QUOTED_SIGNS_MIN, counts: window => SIGNS_ONLY.test(window) })
  let kept = ''
  for (let place = 0; place < message.length; place++) {
    if (!isQuoted[place]) kept += message[place]
    else if (!isQuoted[place - 1]) kept += '…'
  }
  return kept
}

interface Search {
  readonly message: string
  readonly texts: readonly string[]
  /** Of what is looked for. */
  readonly length: number
  counts(window: string): boolean
}

function markQuoted(isQuoted: boolean[], { message, texts, length, counts }: Search): void {
  const found = new Map<string, boolean>()
  for (const { window } of windowsOf(message, length)) if (counts(window)) found.set(window, false)
  if (found.size === 0) return
  for (const text of texts) {
    for (const { window } of windowsOf(text, length)) if (found.has(window)) found.set(window, true)
  }
  for (const { window, place } of windowsOf(message, length)) {
    if (found.get(window)) isQuoted.fill(true, place, place + length)
  }
}

function* windowsOf(text: string, length: number): Generator<{ readonly window: string; readonly place: number }> {
  for (let place = 0; place + length <= text.length; place++) yield { window: text.slice(place, place + length), place }
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
