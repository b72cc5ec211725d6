import { TEXT } from '../test/faults/table/answer.ts'
import type { JsonBody } from '../test/support/duet.ts'
import { type Frame, framesOf } from '../test/support/http.ts'
import type { ProtocolName } from '../test/support/wire.ts'

/** What a caller does with its request. */
export type Manner =
  | 'reads'
  | 'reads slowly'
  | 'is in a hurry'
  | 'leaves at once'
  | 'leaves midway'
  | 'repeats'
  | 'limits its cost'
  | 'is limited'
  | 'is poor'
  | 'is wrong'

export interface Question {
  readonly manner: Manner
  readonly protocol: ProtocolName
  readonly stream: boolean
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonBody
}

export interface Heard {
  readonly status: number
  readonly requestId: string
  readonly text: string
  /** What ended it before its end, if something did. */
  readonly broke: string | undefined
}

export interface Verdict {
  /** In a few words, for the count. */
  readonly kind: string
  readonly isComplete: boolean
  /** Nothing that a caller may ever see. */
  readonly problem: string | undefined
}

/** How upstreams may fail, as far as a caller is told. */
const FAILURES: Readonly<Record<string, number>> = {
  upstream_error: 502,
  upstream_auth_failed: 502,
  upstream_timeout: 504,
  upstream_rate_limited: 429,
  upstream_invalid_request: 400,
  upstream_unavailable: 503,
}

/** What else those may be told who ask for it. */
const OWN_FAILURES: Readonly<Partial<Record<Manner, Readonly<Record<string, number>>>>> = {
  repeats: { idempotency_conflict: 409 },
  'limits its cost': { max_cost_too_low: 400 },
  'is limited': { rate_limited: 429 },
  'is poor': { insufficient_user_quota: 403 },
  'is wrong': { invalid_request: 500, model_not_found: 503 },
}

const REQUEST_ID = / \(request id: [a-z]{20,}\)$/

/** Whether a caller has got one of the things that a caller may get. */
export function judge(question: Question, heard: Heard): Verdict {
  const { manner, stream } = question
  if (heard.broke !== undefined) return wrong('cut off', heard.broke)
  if (heard.status !== 200) return judgeError(manner, heard.status, parse(heard.text)?.error)
  if (manner === 'leaves at once' || manner === 'leaves midway') return fine('left')
  return stream ? judgeStream(question, framesOf(heard.text)) : judgeBody(question, parse(heard.text))
}

function judgeError(manner: Manner, status: number, error: JsonBody): Verdict {
  const code = String(error?.code)
  const known = { ...FAILURES, ...OWN_FAILURES[manner] }[code]
  const kind = `${status} ${code}`
  return known === status && REQUEST_ID.test(error?.message) ? fine(kind) : wrong(kind, JSON.stringify(error))
}

function judgeBody({ protocol, manner }: Question, body: JsonBody): Verdict {
  const choice = body?.choices?.[0]
  const text =
    protocol === 'chat' ? choice?.message?.content : body?.content?.map((block: JsonBody) => block.text).join('')
  return judgeText(manner, text, protocol === 'chat' ? choice?.finish_reason : body?.stop_reason)
}

function judgeStream({ protocol, manner }: Question, frames: readonly Frame[]): Verdict {
  const texts = frames.map(({ json }) => json?.choices?.[0]?.delta?.content ?? json?.delta?.text ?? '')
  const [reason, ...others] = frames.flatMap(
    ({ json }) => json?.choices?.[0]?.finish_reason ?? json?.delta?.stop_reason ?? [],
  )
  const last = frames.at(-1)
  const error = (protocol === 'chat' ? frames.at(-2) : last)?.json?.error
  const isClosed = protocol === 'chat' ? last?.data === '[DONE]' : last?.event === (error ? 'error' : 'message_stop')
  if (!isClosed || others.length > 0) return wrong('a stream without its end', JSON.stringify(last))
  if (!error) return judgeText(manner, texts.join(''), reason)
  const kind = `broken by ${error.code}`
  const isKnown = error.code in FAILURES && REQUEST_ID.test(error.message) && reason === undefined
  return isKnown ? fine(kind) : wrong(kind, JSON.stringify(error))
}

const STOPPED = ['stop', 'end_turn']
const SHORTENED = ['length', 'max_tokens']

/** All of it; or a part, for those who have set a limit or have little money. */
function judgeText(manner: Manner, text: unknown, reason: unknown): Verdict {
  const mayBeShort = manner === 'limits its cost' || manner === 'is poor'
  if (mayBeShort && SHORTENED.includes(String(reason)))
    return { ...fine('an answer cut at its limit'), isComplete: true }
  if (text === TEXT && STOPPED.includes(String(reason))) return { ...fine('an answer'), isComplete: true }
  return wrong('another answer', JSON.stringify({ reason, text }))
}

const fine = (kind: string): Verdict => ({ kind, isComplete: false, problem: undefined })

const wrong = (kind: string, what: string): Verdict => ({ kind, isComplete: false, problem: `${kind}: ${what}` })

/** What the answer says about its price, if it does. */
export function costIn({ stream }: Question, text: string): string | undefined {
  const bodies: JsonBody[] = stream ? framesOf(text).map(({ json }) => json) : [parse(text)]
  return bodies.findLast(body => body?.usage?.cost !== undefined)?.usage.cost
}

function parse(text: string): JsonBody {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
