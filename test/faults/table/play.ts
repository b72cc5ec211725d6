import type { Duet, JsonBody } from '../../support/duet.ts'
import { type Answer, framesOf } from '../../support/http.ts'
import { streamedText } from '../../support/wire.ts'
import { pathOf, requestFor, type Way } from '../support.ts'
import { TEXT } from './answer.ts'
import { type Case, modelOf, secondOf } from './cases.ts'
import type { Outcome } from './outcome.ts'
import type { Stage } from './stage.ts'

/** What a caller has of one request. */
export interface Heard extends Answer {
  readonly requestId: string
  readonly request: JsonBody
  /** Of a stream. */
  readonly said: string
}

/** A case that was played: the request that something went wrong with, and the one after it. */
export interface Played {
  readonly heard: Heard
  /** How many requests the second upstream got of it. */
  readonly secondVisits: number
  readonly next: Heard
}

/** More than a packet, and more than what waits in a socket. */
const LONG_PROMPT = 'Read all of this. '.repeat(20_000)

/** A caller who has had enough of an endless answer. */
const ENOUGH_CHARACTERS = 500

export async function play(duet: Duet, stage: Stage, played: Case, key: string): Promise<Played> {
  const { id, way, outcome, isLongRequest } = played
  const model = modelOf(id)
  const request = requestFor(way, isLongRequest ? LONG_PROMPT : `Case ${id}.`, { model, ...limitOf(outcome) })
  stage.arm(played)
  const heard = await ask(duet, way, { key, request, until: untilOf(outcome), onRead: () => stage.read(id) })
  stage.disarm(played)
  const secondVisits = stage.visitsTo(secondOf(id))
  const next = await ask(duet, way, { key: duet.key, request: requestFor(way, 'And now?', { model }) })
  return { heard, secondVisits, next }
}

/** Of an answer that goes on and on, nobody has read as much before it is ended. */
const limitOf = ({ sees }: Outcome): object =>
  sees === 'all that the money buys' || sees === 'what it wants to' ? { max_tokens: 8_000 } : {}

interface Asking {
  readonly key: string
  readonly request: JsonBody
  readonly until?: Until
  readonly onRead?: () => void
}

/** When the caller has what there is to have, and whether it leaves then. */
interface Until {
  readonly isRead: (said: string) => boolean
  readonly leaves: boolean
}

function untilOf(outcome: Outcome): Until {
  if (outcome.sees === 'what it wants to') return { isRead: ({ length }) => length >= ENOUGH_CHARACTERS, leaves: true }
  const text = outcome.sees === 'a broken stream' ? outcome.progress.text : TEXT
  return { isRead: said => said === text, leaves: false }
}

/** Asks, and reads until the end or until it has enough. What was cut off is what was heard. */
export async function ask(duet: Duet, way: Way, { key, request, until, onRead }: Asking): Promise<Heard> {
  const leaving = new AbortController()
  const response = await fetch(duet.url + pathOf(way), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(request),
    signal: leaving.signal,
    keepalive: false,
  })
  const decoder = new TextDecoder()
  let text = ''
  let said = ''
  try {
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true })
      said = streamedText(way.client, framesOf(text))
      if (!until?.isRead(said)) continue
      onRead?.()
      if (until.leaves) break
    }
  } catch (error) {
    text += `\n(${error})`
  }
  if (until?.leaves) leaving.abort()
  const requestId = response.headers.get('x-request-id') ?? ''
  return { status: response.status, headers: response.headers, text, body: parse(text), requestId, request, said }
}

function parse(text: string): JsonBody {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
