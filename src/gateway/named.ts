import { type Failure, GatewayError } from '../core/failure.ts'
import { type AnswerName, openBody, type StoredAnswer } from '../core/repeats.ts'
import type { Sealer } from '../core/seal.ts'
import { waitsMs, within } from './patience.ts'
import { Recording, type RecordingLimits } from './recording.ts'
import type { Inquiry } from './refusals.ts'
import type { Call, Reply } from './serve.ts'

/** The call that a name stands for: under way, or over. */
export interface Named {
  readonly fingerprint: string
  /** Its answer cannot be given again. */
  readonly isTooLarge: boolean
  give(call: Call): Promise<Reply>
}

/** Who asks for what, and under which name. */
export interface Asked extends AnswerName {
  readonly fingerprint: string
}

/** Makes a call. */
export type Work = (inquiry: Inquiry) => Promise<Reply>

/** What the settlement of a call with a name is given to store. */
export interface Repeatable {
  answered(answer: Ended): Promise<StoredAnswer>
  /** As a rule nothing: whoever asks again after a failure gets a real second try. */
  failed(failure: Failure): StoredAnswer | undefined
}

interface Ended {
  readonly headers: Readonly<Record<string, string>>
  /** The last of a stream, or all of a whole answer. */
  readonly text: string
  readonly isStream: boolean
}

interface RunningDeps {
  readonly limits: RecordingLimits
  readonly clock: () => number
  /** Undefined where there is no room for it in the store. */
  seal(body: Uint8Array): Promise<Uint8Array | undefined>
}

/** From the end of the answer: whoever asks again does so within minutes. */
const KEPT_MS = 10 * 60_000

const utf8 = new TextEncoder()

/**
 * A call under way. It is nobody's in particular: a caller who leaves is expected to ask again, so it goes on to its end,
 * within the limits that every call has, and is charged whole.
 */
export class Running implements Named, Repeatable {
  private readonly asked: Asked
  private readonly deps: RunningDeps
  private readonly recording: Recording
  private readonly requestId: string
  private readonly reply: Promise<Reply>
  /** Resolves when the call is settled, and its answer stored if there is one; never rejects. */
  readonly over: Promise<unknown>

  constructor(asked: Asked, inquiry: Inquiry, work: Work, deps: RunningDeps) {
    this.asked = asked
    this.deps = deps
    this.recording = new Recording(deps.limits)
    this.requestId = inquiry.call.requestId
    const call = { ...inquiry.call, signal: this.recording.abandoned }
    this.reply = work({ ...inquiry, call, repeatable: this })
    this.over = this.reply.then(
      ({ body, ended }) => {
        if (typeof body !== 'string') this.recording.fill(body)
        return ended
      },
      () => {},
    )
  }

  get fingerprint(): string {
    return this.asked.fingerprint
  }

  get isTooLarge(): boolean {
    return !this.recording.isKept
  }

  async give(call: Call): Promise<Reply> {
    const reader = this.recording.join(call.signal)
    try {
      const reply = await within(this.reply, waitsMs(call, this.deps.clock()))
      const body = typeof reply.body === 'string' ? reply.body : reader.stream()
      if (typeof body === 'string') reader.leave()
      const isFirst = call.requestId === this.requestId
      return isFirst ? { ...reply, body } : replay({ ...reply, body }, this.requestId)
    } catch (error) {
      reader.leave()
      throw error
    }
  }

  async answered({ text, headers, isStream }: Ended): Promise<StoredAnswer> {
    const body = this.recording.completed(utf8.encode(text))
    return this.stored({ headers, isStream, sealed: body && (await this.deps.seal(body)) })
  }

  /** The last reader of an answer that is not kept has left: it was paid for, and must not be paid for again unasked. */
  failed({ kind }: Failure): StoredAnswer | undefined {
    const isAbandoned = kind === 'client-gone' && this.isTooLarge
    return isAbandoned ? this.stored({ headers: {}, isStream: true, sealed: undefined }) : undefined
  }

  private stored(answer: Pick<StoredAnswer, 'headers' | 'isStream' | 'sealed'>): StoredAnswer {
    return { ...this.asked, ...answer, requestId: this.requestId, expiresAt: this.deps.clock() + KEPT_MS }
  }
}

interface StoredDeps {
  readonly limits: RecordingLimits
  readonly sealer: Sealer
}

/** A call that is over. */
export class Stored implements Named {
  private readonly answer: StoredAnswer
  private readonly deps: StoredDeps

  constructor(answer: StoredAnswer, deps: StoredDeps) {
    this.answer = answer
    this.deps = deps
  }

  get fingerprint(): string {
    return this.answer.fingerprint
  }

  get isTooLarge(): boolean {
    return this.answer.sealed === undefined
  }

  async give({ signal }: Call): Promise<Reply> {
    const { headers, isStream, sealed = new Uint8Array(), requestId } = this.answer
    const { limits, sealer } = this.deps
    const bytes = await openBody(sealed, sealer, limits.bytesMax)
    const body = isStream ? this.played(bytes, signal) : new TextDecoder().decode(bytes)
    return replay({ headers, body }, requestId)
  }

  private played(bytes: Uint8Array, signal: AbortSignal): ReadableStream<Uint8Array> {
    const recording = new Recording(this.deps.limits)
    const reader = recording.join(signal)
    recording.add(bytes)
    recording.end()
    if (recording.isKept) return reader.stream()
    reader.leave()
    throw new GatewayError({ kind: 'overloaded' })
  }
}

/** Of these, the first bill and the balance of that moment are not this caller's: a repeat costs nothing. */
const MONEY_HEADERS: ReadonlySet<string> = new Set(['x-duet-balance', 'x-duet-key-remaining'])

function replay({ headers, ...reply }: Reply, requestId: string): Reply {
  const kept = Object.entries(headers).filter(([name]) => !MONEY_HEADERS.has(name))
  const own = { 'x-duet-replay-of': requestId, 'x-duet-cost': '0.00' }
  return { ...reply, headers: { ...Object.fromEntries(kept), ...own }, replayOf: requestId }
}
