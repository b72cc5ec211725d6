import { GatewayError } from '../core/failure.ts'
import { type Answers, fingerprint, nameHash, sealBody } from '../core/repeats.ts'
import type { Sealer } from '../core/seal.ts'
import { decodeText } from '../protocol/body-text.ts'
import { type Asked, type Named, Running, Stored, type Work } from './named.ts'
import type { Reader, RecordingLimits } from './recording.ts'
import type { Inquiry, Refusals } from './refusals.ts'
import { Room } from './room.ts'
import type { Call, Reply } from './serve.ts'

interface RepeatsDeps {
  readonly answers: Answers
  readonly sealer: Sealer
  readonly refusals: Pick<Refusals, 'note'>
  readonly clock: () => number
  readonly limits?: RepeatLimits
}

/** In bytes. Keys share the last three; none of them can take all of one. */
interface RepeatLimits {
  /** Of one answer as it is sent. */
  readonly answer: number
  /** In memory, of all calls that are being answered. */
  readonly recorded: number
  /** In memory, of all stored answers that are being read. */
  readonly replayed: number
  /** In the store, of all answers, as they are sealed. */
  readonly stored: number
}

const MIB = 1024 * 1024
/** 32,000 tokens in a frame each are less than the largest answer. */
const LIMITS: RepeatLimits = { answer: 8 * MIB, recorded: 128 * MIB, replayed: 64 * MIB, stored: 1024 * MIB }

const HEADER = 'idempotency-key'
const NAME = /^[\x20-\x7e]{1,255}$/
/** With those that go to the upstream as they are, all that changes an answer; retries of a client differ in others. */
const TELLING_HEADERS = ['x-duet-max-cost', 'x-duet-strict']

/**
 * A call that carries a name (`idempotency-key`) is made once: its repeats attach to it while it runs, and get the stored
 * answer after that. A repeat holds nothing, costs nothing and has no record. A failure is told to all who wait for it and
 * forgotten: whoever asks again then gets a real second try.
 */
export class Repeats {
  private readonly deps: RepeatsDeps
  private readonly bytesMax: number
  private readonly recorded: Room
  private readonly replayed: Room
  private readonly stored: Room
  private readonly names = new Map<string, Promise<Named>>()

  constructor({ limits = LIMITS, ...deps }: RepeatsDeps) {
    this.deps = deps
    this.bytesMax = limits.answer
    this.recorded = new Room(limits.recorded)
    this.replayed = new Room(limits.replayed)
    this.stored = new Room(limits.stored)
  }

  answer(inquiry: Inquiry, work: Work): Promise<Reply> {
    const name = inquiry.call.headers.get(HEADER)
    return name === null ? work(inquiry) : this.answerNamed(name, inquiry, work)
  }

  private async answerNamed(name: string, inquiry: Inquiry, work: Work): Promise<Reply> {
    const read = { ...inquiry, call: readOnce(inquiry.call) }
    const text = await read.call
      .bytes()
      .then(decodeText)
      .catch(() => undefined)
    // What is wrong with a body is said as it is to everyone.
    if (text === undefined) return work(read)
    const { named, reader } = await this.join({ name, text }, read, work).catch(error => {
      this.deps.refusals.note(inquiry, error)
      throw error
    })
    return named.give(read.call, reader).catch(leaving(reader))
  }

  /** To be called now and then. */
  async forgetExpired(): Promise<void> {
    this.stored.recount(await this.deps.answers.purge(this.deps.clock()))
  }

  private async join(question: Question, inquiry: Inquiry, work: Work): Promise<Joined> {
    const asked = this.identify(question, inquiry)
    const named = await this.find(asked, inquiry, work)
    const reader = named.join(inquiry.call.signal)
    try {
      refuseUnlessSame(named, asked)
      await named.open()
      return { named, reader }
    } catch (error) {
      return leaving(reader)(error)
    }
  }

  private identify({ name, text }: Question, { call, caller, protocol }: Inquiry): Asked {
    const { sealer } = this.deps
    if (!NAME.test(name)) {
      const problem = 'must have 1 to 255 printable ASCII characters'
      throw new GatewayError({ kind: 'header-invalid', name: HEADER, problem })
    }
    const headers = { ...protocol.forwardedHeaders(call.headers), ...tellingHeaders(call.headers) }
    const request = { protocol: protocol.name, headers, text }
    return { keyId: caller.keyId, nameHash: nameHash(name, sealer), fingerprint: fingerprint(request, sealer) }
  }

  /** The first to ask under a name finds out what it stands for; everyone else waits for that. */
  private find(asked: Asked, inquiry: Inquiry, work: Work): Promise<Named> {
    const id = `${asked.keyId} ${asked.nameHash}`
    const known = this.names.get(id)
    if (known) return known
    const forget = () => this.names.delete(id)
    const found = this.storedOr(asked, () => this.begin(asked, inquiry, work))
    this.names.set(id, found)
    found.then(named => named.over).then(forget, forget)
    return found
  }

  private async storedOr(asked: Asked, begin: () => Named): Promise<Named> {
    const answer = await this.deps.answers.find(asked, this.deps.clock())
    const limits = this.limitsOf(asked, this.replayed)
    return answer ? new Stored(answer, { limits, sealer: this.deps.sealer }) : begin()
  }

  private begin(asked: Asked, inquiry: Inquiry, work: Work): Running {
    const limits = this.limitsOf(asked, this.recorded)
    return new Running(asked, inquiry, work, { limits, clock: this.deps.clock, seal: body => this.seal(body, asked) })
  }

  private limitsOf({ keyId }: Asked, room: Room): RecordingLimits {
    return { bytesMax: this.bytesMax, room, owner: keyId }
  }

  private async seal(body: Uint8Array, { keyId }: Asked): Promise<Uint8Array | undefined> {
    const sealed = await sealBody(body, this.deps.sealer)
    return this.stored.take(keyId, sealed.byteLength) ? sealed : undefined
  }
}

interface Question {
  readonly name: string
  readonly text: string
}

interface Joined {
  readonly named: Named
  readonly reader: Reader
}

const leaving =
  (reader: Reader) =>
  (error: unknown): never => {
    reader.leave()
    throw error
  }

const tellingHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries(TELLING_HEADERS.flatMap(name => (headers.has(name) ? [[name, headers.get(name) ?? '']] : [])))

/** The body is read to know the request, and again to answer it. */
function readOnce(call: Call): Call {
  const bytes = call.bytes()
  return { ...call, bytes: () => bytes }
}

function refuseUnlessSame(named: Named, asked: Asked): void {
  if (named.fingerprint !== asked.fingerprint) throw new GatewayError({ kind: 'idempotency-conflict' })
  if (!named.isKept) throw new GatewayError({ kind: 'answer-not-kept' })
}
