import { type Failure, GatewayError } from '../core/failure.ts'
import { type AnswerName, openBody, type StoredAnswer } from '../core/repeats.ts'
import type { Sealer } from '../core/seal.ts'
import { waitsMs, within } from './patience.ts'
import { type Reader, Recording, type RecordingLimits } from './recording.ts'
import type { Inquiry } from './refusals.ts'
import type { Call, Reply } from './serve.ts'

/** The call that a name stands for: under way, or over. */
export interface Named {
  readonly fingerprint: string
  /** Its answer can be given again. */
  readonly isKept: boolean
  /** Resolves when there is no use for it any more: what is stored is all that is left of it. Never rejects. */
  readonly over: Promise<unknown>
  /** Whoever found it joins it at once, and leaves it if nothing comes of that. */
  join(signal: AbortSignal): Reader
  /** To be awaited before anything is given. */
  open(): Promise<void>
  give(call: Call, reader: Reader): Promise<Reply>
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
    // It is under way as long as its answer comes, whoever still waits for that.
    const answer = call.stay.through(work({ ...inquiry, call, repeatable: this }))
    this.reply = answer.then(reply => this.record(reply))
    this.over = this.reply.then(
      ({ ended }) => ended,
      () => {},
    )
  }

  get fingerprint(): string {
    return this.asked.fingerprint
  }

  get isKept(): boolean {
    return this.recording.isKept
  }

  join(signal: AbortSignal): Reader {
    return this.recording.join(signal)
  }

  async open(): Promise<void> {}

  async give(call: Call, reader: Reader): Promise<Reply> {
    const reply = await within(Promise.race([this.reply, gone(reader)]), waitsMs(call, this.deps.clock()))
    const given = { ...reply, body: reader.stream(), ended: endOf(reader, reply.ended) }
    return call.requestId === this.requestId ? given : replay(given, this.requestId)
  }

  /** Whole answers as well: each of those who wait for it would have a copy of its own, for as long as it does not read. */
  private record(reply: Reply): Reply {
    if (typeof reply.body !== 'string') {
      this.recording.fill(reply.body)
      return reply
    }
    this.recording.add(utf8.encode(reply.body))
    this.recording.end()
    return { ...reply, bodyBytes: this.recording.bytes }
  }

  async answered({ text, headers, isStream }: Ended): Promise<StoredAnswer> {
    const body = this.recording.completed(utf8.encode(text))
    return this.stored({ headers, isStream, sealed: body && (await this.deps.seal(body)) })
  }

  /** The last reader of an answer that is not kept has left: it was paid for, and must not be paid for again unasked. */
  failed({ kind }: Failure): StoredAnswer | undefined {
    const isAbandoned = kind === 'client-gone' && !this.isKept
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

/** A call that is over. It is opened once for all who read it at the same time. */
export class Stored implements Named {
  private readonly answer: Omit<StoredAnswer, 'sealed'>
  private readonly sealer: Sealer
  private readonly recording: Recording
  private sealed: Uint8Array | undefined
  private opened: Promise<void> | undefined
  readonly isKept: boolean

  constructor({ sealed, ...answer }: StoredAnswer, { limits, sealer }: StoredDeps) {
    this.answer = answer
    this.sealer = sealer
    this.recording = new Recording(limits)
    this.sealed = sealed
    this.isKept = sealed !== undefined
  }

  get fingerprint(): string {
    return this.answer.fingerprint
  }

  get over(): Promise<void> {
    return this.recording.unread
  }

  join(signal: AbortSignal): Reader {
    return this.recording.join(signal)
  }

  open(): Promise<void> {
    this.opened ??= this.play()
    return this.opened
  }

  async give(_: Call, reader: Reader): Promise<Reply> {
    const { headers, isStream, requestId } = this.answer
    const bodyBytes = isStream ? undefined : this.recording.bytes
    return replay({ headers, body: reader.stream(), bodyBytes, ended: endOf(reader) }, requestId)
  }

  private async play(): Promise<void> {
    const { bytes, unpack } = openBody(this.sealed ?? new Uint8Array(), this.sealer)
    this.sealed = undefined
    this.recording.reserve(bytes)
    try {
      if (!this.recording.isKept) throw new GatewayError({ kind: 'repeats-overloaded' })
      this.recording.add(await unpack())
    } finally {
      this.recording.end()
    }
  }
}

const clientGone = (): GatewayError => new GatewayError({ kind: 'client-gone' })

/** Rejects when a reader has left. */
async function gone(reader: Reader): Promise<never> {
  await reader.over
  throw clientGone()
}

/** An answer has ended for one of its readers when that has all of it, or has left: the call may be over long before, or after. */
const endOf = async (reader: Reader, ended?: Reply['ended']): Promise<GatewayError | undefined> =>
  (await reader.over) === 'left' ? clientGone() : ended

/** Of these, the first bill and the balance of that moment are not this caller's: a repeat costs nothing. */
const MONEY_HEADERS: ReadonlySet<string> = new Set(['x-duet-balance', 'x-duet-key-remaining'])

function replay({ headers, ...reply }: Reply, requestId: string): Reply {
  const kept = Object.entries(headers).filter(([name]) => !MONEY_HEADERS.has(name))
  const own = { 'x-duet-replay-of': requestId, 'x-duet-cost': '0.00' }
  return { ...reply, headers: { ...Object.fromEntries(kept), ...own }, replayOf: requestId }
}
