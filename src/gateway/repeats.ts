import { GatewayError } from '../core/failure.ts'
import { type Answers, fingerprint, nameHash, sealBody } from '../core/repeats.ts'
import type { Sealer } from '../core/seal.ts'
import { type Asked, type Named, Running, Stored, type Work } from './named.ts'
import { type RecordingLimits, Room } from './recording.ts'
import type { Inquiry, Refusals } from './refusals.ts'
import type { Call, Reply } from './serve.ts'

interface RepeatsDeps {
  readonly answers: Answers
  readonly sealer: Sealer
  readonly refusals: Pick<Refusals, 'note'>
  readonly clock: () => number
}

const HEADER = 'idempotency-key'
const NAME = /^[\x20-\x7e]{1,255}$/
/** Of one answer as it is sent: 32,000 tokens in a frame each are less. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024
/** In memory, of all answers that are being read. */
const RECORDED_BYTES_MAX = 128 * 1024 * 1024
/** In the store, of all answers, as they are sealed. */
const STORED_BYTES_MAX = 1024 * 1024 * 1024

/**
 * A call that carries a name (`idempotency-key`) is made once: its repeats attach to it while it runs, and get the stored
 * answer after that. A repeat holds nothing, costs nothing and has no record. A failure is told to all who wait for it and
 * forgotten: whoever asks again then gets a real second try.
 */
export class Repeats {
  private readonly deps: RepeatsDeps
  private readonly limits: RecordingLimits = { bytesMax: ANSWER_BYTES_MAX, room: new Room(RECORDED_BYTES_MAX) }
  private readonly names = new Map<string, Promise<Named>>()
  private storedBytes = 0

  constructor(deps: RepeatsDeps) {
    this.deps = deps
  }

  async answer(inquiry: Inquiry, work: Work): Promise<Reply> {
    const name = inquiry.call.headers.get(HEADER)
    if (name === null) return work(inquiry)
    const read = { ...inquiry, call: readOnce(inquiry.call) }
    const text = await read.call.text().catch(() => undefined)
    // What is wrong with a body is said as it is to everyone.
    if (text === undefined) return work(read)
    let named: Named
    try {
      const asked = this.identify({ name, text }, read)
      named = await this.find(asked, read, work)
      refuseUnlessSame(named, asked)
    } catch (error) {
      this.deps.refusals.note(inquiry, error)
      throw error
    }
    // At once: in a moment it may have become too large.
    return named.give(read.call)
  }

  /** To be called now and then. */
  async forgetExpired(): Promise<void> {
    this.storedBytes = await this.deps.answers.purge(this.deps.clock())
  }

  private identify({ name, text }: { name: string; text: string }, { caller, protocol }: Inquiry): Asked {
    const { sealer } = this.deps
    if (!NAME.test(name)) {
      const problem = 'must have 1 to 255 printable ASCII characters'
      throw new GatewayError({ kind: 'header-invalid', name: HEADER, problem })
    }
    const { keyId } = caller
    return { keyId, nameHash: nameHash(name, sealer), fingerprint: fingerprint(protocol.name, text, sealer) }
  }

  /** The first to ask under a name finds out what it stands for; everyone else waits for that. */
  private find(asked: Asked, inquiry: Inquiry, work: Work): Promise<Named> {
    const id = `${asked.keyId} ${asked.nameHash}`
    const known = this.names.get(id)
    if (known) return known
    const forget = () => this.names.delete(id)
    const found = this.storedOr(asked, () => this.begin(asked, inquiry, work))
    this.names.set(id, found)
    found.then(named => (named instanceof Running ? named.over : undefined)).then(forget, forget)
    return found
  }

  private async storedOr(asked: Asked, begin: () => Named): Promise<Named> {
    const answer = await this.deps.answers.find(asked, this.deps.clock())
    return answer ? new Stored(answer, { limits: this.limits, sealer: this.deps.sealer }) : begin()
  }

  private begin(asked: Asked, inquiry: Inquiry, work: Work): Running {
    const { limits } = this
    return new Running(asked, inquiry, work, { limits, clock: this.deps.clock, seal: body => this.seal(body) })
  }

  private async seal(body: Uint8Array): Promise<Uint8Array | undefined> {
    if (this.storedBytes > STORED_BYTES_MAX) return undefined
    const sealed = await sealBody(body, this.deps.sealer)
    this.storedBytes += sealed.byteLength
    return sealed
  }
}

/** The body is read to know the request, and again to answer it. */
function readOnce(call: Call): Call {
  const text = call.text()
  return { ...call, text: () => text }
}

function refuseUnlessSame(named: Named, asked: Asked): void {
  if (named.fingerprint !== asked.fingerprint) throw conflict(`This ${HEADER} was used for another request`)
  if (named.isTooLarge) throw conflict('The answer to this request was too large to be kept for a repeat')
}

const conflict = (problem: string): GatewayError => new GatewayError({ kind: 'idempotency-conflict', problem })
