import type { Claims, NewClaim } from '../core/claims.ts'
import { GatewayError } from '../core/failure.ts'
import { type Answers, fingerprint, nameHash, sealBody } from '../core/repeats.ts'
import type { Sealer } from '../core/seal.ts'
import { decodeText } from '../protocol/body-text.ts'
import { type Asked, type Named, Running, Stored, type Work } from './named.ts'
import { Elsewhere, OwnClaims } from './own-claims.ts'
import { waitsMs } from './patience.ts'
import type { Reader, RecordingLimits } from './recording.ts'
import type { Inquiry, Refusals } from './refusals.ts'
import { Room } from './room.ts'
import type { Call, Reply } from './serve.ts'

interface RepeatsDeps {
  readonly answers: Answers
  /** Where other replicas may be asked under the same names. */
  readonly claims?: Claims | undefined
  readonly sealer: Sealer
  readonly refusals: Pick<Refusals, 'note'>
  readonly clock: () => number
  readonly limits?: RepeatLimits
  /** Tells the operator what could not be written. */
  readonly report?: (error: unknown) => void
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
 * forgotten: whoever asks again then gets a real second try. What runs on another replica is waited for until its answer is
 * stored; if it fails there, one of those who wait makes the second try.
 */
export class Repeats {
  private readonly deps: RepeatsDeps
  private readonly bytesMax: number
  private readonly recorded: Room
  private readonly replayed: Room
  private readonly stored: Room
  private readonly names = new Map<string, Promise<Named | Elsewhere>>()
  private readonly claims: OwnClaims | undefined
  private isCut = false

  constructor({ limits = LIMITS, claims, report = () => {}, ...deps }: RepeatsDeps) {
    this.deps = deps
    this.claims = claims && new OwnClaims(claims, report)
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
    for (;;) {
      const joined = await this.join({ name, text }, read, work).catch(error => {
        this.deps.refusals.note(inquiry, error)
        throw error
      })
      if (!(joined instanceof Elsewhere))
        return joined.named.give(read.call, joined.reader).catch(leaving(joined.reader))
      await joined.over
      this.refuseUnlessAwaited(read.call)
    }
  }

  /** To be called now and then. */
  async forgetExpired(): Promise<void> {
    this.stored.recount(await this.deps.answers.purge(this.deps.clock()))
  }

  /** To be called more often: names that could not be given back are in the way of those who ask again elsewhere. */
  async giveBackNames(): Promise<void> {
    await this.claims?.tidy()
  }

  /** A stopping gateway waits for no other. */
  cut(): void {
    this.isCut = true
  }

  private async join(question: Question, inquiry: Inquiry, work: Work): Promise<Joined | Elsewhere> {
    const asked = this.identify(question, inquiry)
    const named = await this.find(asked, inquiry, work)
    if (named instanceof Elsewhere) {
      refuseOther(named, asked)
      return named
    }
    const reader = named.join(inquiry.call.signal)
    try {
      refuseOther(named, asked)
      if (!named.isKept) throw new GatewayError({ kind: 'answer-not-kept' })
      await named.open()
      return { named, reader }
    } catch (error) {
      return leaving(reader)(error)
    }
  }

  private refuseUnlessAwaited(call: Call): void {
    if (this.isCut) throw new GatewayError({ kind: 'shutting-down' })
    if (call.signal.aborted) throw new GatewayError({ kind: 'client-gone' })
    if (waitsMs(call, this.deps.clock()) === 0) throw new GatewayError({ kind: 'upstream-timeout', phase: 'caller' })
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
  private find(asked: Asked, inquiry: Inquiry, work: Work): Promise<Named | Elsewhere> {
    const id = `${asked.keyId} ${asked.nameHash}`
    const known = this.names.get(id)
    if (known) return known
    const forget = () => this.names.delete(id)
    const begin = () => this.begin(asked, inquiry, work)
    const { requestId } = inquiry.call
    const found = this.claims ? this.claimed({ ...asked, requestId }, this.claims, begin) : this.storedOr(asked, begin)
    this.names.set(id, found)
    found.then(named => named.over).then(forget, forget)
    return found
  }

  /** As it is found, if no other replica has it. */
  private async claimed(asked: NewClaim, claims: OwnClaims, begin: () => Named): Promise<Named | Elsewhere> {
    const claim = await claims.claim(asked, this.deps.clock())
    switch (claim.type) {
      case 'elsewhere':
        return new Elsewhere(claim.fingerprint)
      case 'answered':
        // Unless it was forgotten just now.
        return this.storedOr(asked, () => this.claimed(asked, claims, begin))
      case 'ours': {
        const named = begin()
        named.over.then(() => claims.release(asked))
        return named
      }
    }
  }

  private async storedOr<T>(asked: Asked, begin: () => T): Promise<Stored | Awaited<T>> {
    const answer = await this.deps.answers.find(asked, this.deps.clock())
    const limits = this.limitsOf(asked, this.replayed)
    return answer ? new Stored(answer, { limits, sealer: this.deps.sealer }) : await begin()
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

function refuseOther({ fingerprint }: Pick<Asked, 'fingerprint'>, asked: Asked): void {
  if (fingerprint !== asked.fingerprint) throw new GatewayError({ kind: 'idempotency-conflict' })
}
